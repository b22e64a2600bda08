// Loads, unloads and selects models while the process serves, and counts the results. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/registry.h"
#include "serving/backends/backend_factory.h"
#include "serving/models/load_model.h"
#include "serving/models/load_progress.h"
#include "serving/models/model_registry.h"
#include "serving/models/select_model.h"

namespace inferflux::serving {

// A load in progress.
struct LoadingModel {
  std::string id;
  std::string path;
  std::string requested_backend;
  LoadProgress::Snapshot progress;
  double seconds = 0;  // since its start
};

// A model that failed to load when the server started.
struct FailedModel {
  std::string id;
  std::string path;
  std::string requested_backend;
  std::string error;
};

class ModelManager {
 public:
  using Loaded = Result<std::shared_ptr<const ServedModel>>;
  // Runs a task, now or later, on any thread.
  using Runner = std::function<void(std::function<void()>)>;

  // Borrowed arguments must outlive the manager. `defaults` apply to everything that a load does not set.
  ModelManager(const BackendFactory& factory, ModelRegistry& registry, metrics::Registry& metrics, LoadRequest defaults)
      : factory_(factory), registry_(registry), metrics_(metrics), defaults_(std::move(defaults)) {}

  const LoadRequest& defaults() const { return defaults_; }

  // Returns when the model serves, which may take long. kInvalidArgument at once if its id is taken or is being loaded
  // with other settings; other errors as for LoadModel. A load equal to one in progress joins it: both callers get the
  // same model.
  Loaded Load(LoadRequest request, bool is_default = false);

  // The same, but returns at once and passes the work to `run`, unless an equal load is in progress. Loading() lists it
  // from now on.
  std::shared_future<Loaded> StartLoad(LoadRequest request, bool is_default, const Runner& run);

  // Records the failure for Failed() until a model with this id is loaded or unloaded.
  void RecordFailure(const LoadRequest& request, const Error& error);
  std::vector<FailedModel> Failed() const;

  // Removes the model from the list at once, waits up to `grace` for its requests, ends the remaining ones, and frees
  // its memory. Clears a recorded failure. kNotFound if there is no such model.
  Status Unload(const std::string& id, std::chrono::milliseconds grace);

  std::vector<LoadingModel> Loading() const;

  // Selects the loaded model for a request with SelectModelForRequest, and counts switches and refusals.
  tl::expected<std::shared_ptr<const ServedModel>, NoSelection> Select(std::string_view id,
                                                                       std::span<const Feature> needs) const;
  RoutingPolicy policy() const;
  void SetPolicy(const RoutingPolicy& policy);

  ModelRegistry& registry() { return registry_; }

 private:
  struct Running {
    LoadRequest request;
    bool is_default = false;
    std::shared_ptr<LoadProgress> progress = std::make_shared<LoadProgress>();
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::promise<Loaded> promise = {};
    std::shared_future<Loaded> done = promise.get_future().share();
  };
  using Place = std::list<Running>::iterator;

  void Run(Place place);
  void CountLoaded(const ServedModel& model, double seconds);
  void CountEvent(const std::string& event);

  const BackendFactory& factory_;
  ModelRegistry& registry_;
  metrics::Registry& metrics_;
  LoadRequest defaults_;
  mutable std::mutex mutex_;
  std::list<Running> loading_;
  std::vector<FailedModel> failed_;
  RoutingPolicy policy_;
};

}  // namespace inferflux::serving
