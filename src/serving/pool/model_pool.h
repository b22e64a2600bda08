// The models of a process: loads them by name or by path, lends them out, and unloads them. A process has one pool. Any
// thread.
//
// A model that is lent out stays loaded until the last copy of its shared_ptr is gone. A model without users leaves
// when it was idle for longer than its keep-alive, or, least recently used first, when another one needs its memory.
// Pinned models leave only by Unload.
#pragma once

#include <chrono>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "metrics/registry.h"
#include "scheduler/wakeup.h"
#include "serving/backends/backend_factory.h"
#include "serving/models/load_model.h"
#include "serving/models/model_registry.h"
#include "serving/models/select_model.h"
#include "serving/pool/loader_thread.h"
#include "serving/pool/model_use.h"
#include "serving/pool/models_directory.h"
#include "serving/pool/pool_budget.h"
#include "serving/pool/pool_metrics.h"
#include "serving/pool/unloaded_model.h"

namespace inferflux::serving {

struct PoolOptions {
  // Bytes of host memory for the weights and KV of all models together; 0: DefaultPoolBudget().
  int64_t memory_budget = 0;
  // Where LoadModel finds models by name; none: only models that Offer named.
  std::optional<ModelsDirectory> directory = {};
  // How long a model without users stays loaded, unless its load says otherwise.
  std::chrono::seconds keep_alive = kKeepLoaded;
};

// How long a loaded model stays.
struct ModelStay {
  bool pinned = false;
  std::chrono::seconds keep_alive = kKeepLoaded;
  int users = 0;
  std::chrono::steady_clock::time_point idle_since;  // if it has no users
  int64_t bytes = 0;                                 // of the pool's budget
};

class ModelPool {
 public:
  using Loaded = Result<std::shared_ptr<const ServedModel>>;
  using Selected = tl::expected<std::shared_ptr<const ServedModel>, NoSelection>;

  // Borrowed arguments must outlive the pool. `defaults` apply to everything that a load does not set.
  ModelPool(const BackendFactory& factory, metrics::Registry& metrics, LoadRequest defaults, PoolOptions options = {});
  // Waits for the load in progress; cancel it through LoadRequest::stop.
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  const LoadRequest& defaults() const { return defaults_; }

  // --- loading ---

  // The loaded model of this name; otherwise loads it: a name that Offer or the models directory knows, or a path,
  // which has a '/'. All callers at once share one load. A stop request ends the wait (kCancelled), and never the load,
  // which others may wait for. kNotFound names what was asked for and what there is; kResourceExhausted says how much
  // memory is needed, and who holds it; otherwise as LoadModel in load_model.h. Never pass text from outside: it could
  // be a path.
  Loaded LoadModel(std::string_view name, std::stop_token stop = {});

  // The loaded model of this name. Never loads: kNotFound says what is loaded.
  Loaded GetLoadedModel(std::string_view name) const;

  // Loads with the request's own settings, and returns when the model serves. kInvalidArgument at once if its id is
  // taken or is being loaded with other settings. A load equal to one in progress joins it.
  Loaded Load(LoadRequest request, bool is_default = false);

  // The same, but returns at once. Loads run one after the other on the pool's own thread. A holder of the future is a
  // user of the model.
  std::shared_future<Loaded> StartLoad(LoadRequest request, bool is_default = false);

  // The model that is loaded with the request's id, whatever its settings; otherwise StartLoad.
  std::shared_future<Loaded> FindOrStartLoad(LoadRequest request);

  // LoadModel for names that come from outside: never a path. Returns at once.
  std::shared_future<Loaded> StartLoadOf(const std::string& name);

  // Where models are found by name; none: nowhere.
  const std::optional<ModelsDirectory>& directory() const { return options_.directory; }

  // The path of a model that LoadModel knows by this name. Errors as for LoadModel.
  Result<std::string> PathOf(const std::string& name) const;

  // Makes a model loadable by its id, with these settings.
  void Offer(LoadRequest request);

  // Adds a model that was loaded elsewhere, pinned. The pool does not count its memory.
  Status Add(std::shared_ptr<const ServedModel> model, bool is_default = false);

  // Changes how long a loaded model stays; what is not given stays as it is. kNotFound as for GetLoadedModel.
  Status SetStay(const std::string& id, std::optional<bool> pinned, std::optional<std::chrono::seconds> keep_alive);

  // Records the failure for Unloaded() until a model with this id is loaded or unloaded.
  void RecordFailure(const LoadRequest& request, const Error& error);

  // Removes the model from the list at once, waits up to `grace` for its users, ends the remaining requests, and frees
  // its memory. Clears a recorded failure. kNotFound if there is no such model. Until it is loaded again, Unloaded()
  // says that it was withdrawn.
  Status Unload(const std::string& id, std::chrono::milliseconds grace);

  // --- what there is ---

  std::vector<std::shared_ptr<const ServedModel>> List() const { return registry_.List(); }
  std::vector<LoadingModel> Loading() const;
  std::vector<FailedModel> Failed() const;
  // Every model that is not loaded: those being loaded, those that failed to load, and those that LoadModel would load.
  std::vector<UnloadedModel> Unloaded() const;
  // None if no model of this id is loaded.
  std::optional<ModelStay> Stay(const std::string& id) const;
  PoolUse use() const { return budget_.use(); }

  // --- requests ---

  // Selects the loaded model for a request with SelectModelForRequest, and counts switches and refusals. Never loads.
  // kNotLoaded: StartLoadOf would load it.
  Selected Select(std::string_view id, std::span<const Feature> needs) const;
  RoutingPolicy policy() const;
  void SetPolicy(const RoutingPolicy& policy);

  ModelRegistry& registry() { return registry_; }
  const ModelRegistry& registry() const { return registry_; }

 private:
  // A load in progress.
  struct Running {
    LoadRequest request;
    bool is_default = false;
    bool first_use = false;
    std::shared_ptr<LoadProgress> progress = std::make_shared<LoadProgress>();
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    PoolBudget::Claim claim = {};
    HostMemoryNeed need = {};
    int64_t granted_kv = 0;
    std::promise<Loaded> promise = {};
    std::shared_future<Loaded> done = promise.get_future().share();
  };
  using Place = std::list<Running>::iterator;

  // What the pool knows of a loaded model beside the registry.
  struct Resident {
    std::shared_ptr<ModelUse> use;
    PoolBudget::Claim claim = {};
    bool pinned = false;
    std::chrono::seconds keep_alive = kKeepLoaded;
  };
  struct Leaving {
    std::shared_ptr<const ServedModel> model;
    std::optional<Resident> resident;
  };

  // The functions with "Locked" need mutex_.
  std::shared_future<Loaded> BeginLocked(LoadRequest request, bool is_default, bool first_use);
  Loaded FindLocked(std::string_view name) const;
  std::shared_ptr<const ServedModel> LendLocked(std::shared_ptr<const ServedModel> model) const;
  void AdmitLocked(Place place, const std::shared_ptr<const ServedModel>& model);
  Result<Leaving> RemoveLocked(const std::string& id);
  std::vector<std::string> EvictableLocked() const;  // least recently used first

  std::shared_future<Loaded> LoadPath(std::string path);
  Result<LoadRequest> RequestFor(const std::string& name) const;
  void Run(Place place);
  Result<int64_t> Reserve(Place place, const HostMemoryNeed& need);
  Result<PoolBudget::Claim> MakeRoom(const std::string& id, int64_t bytes, const HostMemoryNeed& need);
  void Evict(Leaving leaving, const std::string& reason);
  std::optional<std::chrono::steady_clock::time_point> UnloadIdle();
  std::string Loadable() const;
  std::string WhatThereIs() const;  // "loaded: a, b; can be loaded: c"
  NoSelection WhyUnloaded(const std::string& id, NoSelection refused) const;

  const BackendFactory& factory_;
  PoolMetrics metrics_;
  LoadRequest defaults_;
  PoolOptions options_;
  PoolBudget budget_;
  ModelRegistry registry_;
  std::shared_ptr<scheduler::Wakeup> idle_ = std::make_shared<scheduler::Wakeup>();

  mutable std::mutex mutex_;
  std::map<std::string, Resident, std::less<>> residents_;
  std::map<std::string, LoadRequest, std::less<>> offers_;
  std::list<Running> loading_;
  std::vector<FailedModel> failed_;
  std::set<std::string, std::less<>> withdrawn_;  // unloaded by Unload, and not loaded since
  RoutingPolicy policy_;

  LoaderThread loader_;
  std::jthread unloads_idle_;  // last: it uses everything above
};

}  // namespace inferflux::serving
