// Loads, unloads and chooses models while the process serves, and counts what comes of it. Any thread.
#pragma once

#include <chrono>
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

// A load that runs now.
struct LoadingModel {
  std::string id;
  std::string path;
  std::string requested_backend;
  LoadProgress::Snapshot progress;
  double seconds = 0;  // since it began
};

class ModelManager {
 public:
  // Everything lent must outlive the manager. `defaults` are what a load is to have where nobody says otherwise.
  ModelManager(const BackendFactory& factory, ModelRegistry& registry, metrics::Registry& metrics, LoadRequest defaults)
      : factory_(factory), registry_(registry), metrics_(metrics), defaults_(std::move(defaults)) {}

  const LoadRequest& defaults() const { return defaults_; }

  // Returns when the model serves; takes as long as that takes. kInvalidArgument at once where its id is taken or is
  // being loaded; otherwise as LoadModel.
  Result<std::shared_ptr<const ServedModel>> Load(LoadRequest request, bool is_default = false);

  // Takes the model off the list at once, waits up to `grace` for the requests it has, ends those that are left, and
  // frees its memory. kNotFound where there is no such model.
  Status Unload(const std::string& id, std::chrono::milliseconds grace);

  std::vector<LoadingModel> Loading() const;

  // The loaded model that a request goes to, by SelectModelForRequest; switches and refusals are counted.
  tl::expected<std::shared_ptr<const ServedModel>, NoSelection> Select(std::string_view id,
                                                                       std::span<const Feature> needs) const;
  RoutingPolicy policy() const;
  void SetPolicy(const RoutingPolicy& policy);

  ModelRegistry& registry() { return registry_; }

 private:
  struct Running {
    LoadingModel model;
    std::shared_ptr<LoadProgress> progress;
    std::chrono::steady_clock::time_point began;
  };

  Status Reserve(const LoadRequest& request, std::list<Running>::iterator& place);
  void CountLoaded(const ServedModel& model, double seconds);
  void CountEvent(const std::string& model, const std::string& event);

  const BackendFactory& factory_;
  ModelRegistry& registry_;
  metrics::Registry& metrics_;
  LoadRequest defaults_;
  mutable std::mutex mutex_;
  std::list<Running> loading_;
  RoutingPolicy policy_;
};

}  // namespace inferflux::serving
