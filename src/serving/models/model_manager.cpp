#include "serving/models/model_manager.h"

#include <thread>
#include <utility>

#include "base/log.h"

namespace inferflux::serving {
namespace {

constexpr std::chrono::milliseconds kDrainPoll{10};

double SecondsSince(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Whether both would load the same model.
bool SameLoad(const LoadRequest& a, const LoadRequest& b) {
  return a.id == b.id && a.path == b.path && a.requested_backend == b.requested_backend && a.context == b.context &&
         a.format == b.format && a.draft == b.draft && a.config == b.config;
}

std::shared_future<ModelManager::Loaded> AlreadyDone(ModelManager::Loaded loaded) {
  std::promise<ModelManager::Loaded> promise;
  promise.set_value(std::move(loaded));
  return promise.get_future().share();
}

}  // namespace

std::shared_future<ModelManager::Loaded> ModelManager::StartLoad(LoadRequest request, bool is_default,
                                                                 const Runner& run) {
  Place place;
  std::shared_future<Loaded> done;
  {
    const std::lock_guard lock(mutex_);
    for (Running& other : loading_) {
      if (other.request.id != request.id) continue;
      if (!SameLoad(other.request, request)) {
        return AlreadyDone(
            Fail(ErrorCode::kInvalidArgument,
                 "a model '{}' is being loaded already, with another path or other settings; wait for it, "
                 "or choose another id",
                 request.id));
      }
      other.is_default |= is_default;
      return other.done;
    }
    if (Status free = registry_.CheckId(request.id); !free) return AlreadyDone(Forward(free));
    request.metrics = &metrics_;
    place = loading_.insert(loading_.end(), Running{.request = std::move(request), .is_default = is_default});
    place->request.progress = place->progress;
    done = place->done;
  }
  run([this, place] { Run(place); });
  return done;
}

void ModelManager::Run(Place place) {
  {
    const std::lock_guard lock(mutex_);
    place->began = std::chrono::steady_clock::now();
  }
  Loaded loaded = LoadModel(factory_, place->request);
  std::promise<Loaded> promise;
  {
    // Adds the model and removes the load from the list under one lock: a load of the same id always finds one of them.
    const std::lock_guard lock(mutex_);
    if (loaded) {
      if (Status added = registry_.Add(*loaded, place->is_default); !added) loaded = Forward(added);
    }
    if (loaded) {
      CountLoaded(**loaded, SecondsSince(place->began));
      std::erase_if(failed_, [&](const FailedModel& model) { return model.id == (*loaded)->id; });
    } else {
      CountEvent("failed");
    }
    promise = std::move(place->promise);
    loading_.erase(place);
  }
  promise.set_value(std::move(loaded));
}

ModelManager::Loaded ModelManager::Load(LoadRequest request, bool is_default) {
  return StartLoad(std::move(request), is_default, [](const std::function<void()>& work) { work(); }).get();
}

void ModelManager::RecordFailure(const LoadRequest& request, const Error& error) {
  const std::lock_guard lock(mutex_);
  failed_.push_back({request.id, request.path, request.requested_backend, error.message});
}

std::vector<FailedModel> ModelManager::Failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

Status ModelManager::Unload(const std::string& id, std::chrono::milliseconds grace) {
  {
    const std::lock_guard lock(mutex_);
    if (std::erase_if(failed_, [&](const FailedModel& model) { return model.id == id; }) > 0) return {};
  }
  auto model = registry_.Remove(id);
  if (!model) return Forward(model);
  const auto until = std::chrono::steady_clock::now() + grace;
  // The registry no longer returns it, so the count only falls. A request holds its model until its last byte is sent.
  while (model->use_count() > 1 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kDrainPoll);
  (*model)->scheduler->Stop();
  CountEvent("unloaded");
  log::Info("{} is unloaded", id);
  return {};
}

std::vector<LoadingModel> ModelManager::Loading() const {
  const std::lock_guard lock(mutex_);
  std::vector<LoadingModel> out;
  for (const Running& running : loading_) {
    out.push_back({.id = running.request.id,
                   .path = running.request.path,
                   .requested_backend = running.request.requested_backend,
                   .progress = running.progress->Read(),
                   .seconds = SecondsSince(running.began)});
  }
  return out;
}

RoutingPolicy ModelManager::policy() const {
  const std::lock_guard lock(mutex_);
  return policy_;
}

void ModelManager::SetPolicy(const RoutingPolicy& policy) {
  const std::lock_guard lock(mutex_);
  policy_ = policy;
}

tl::expected<std::shared_ptr<const ServedModel>, NoSelection> ModelManager::Select(
    std::string_view id, std::span<const Feature> needs) const {
  RoutingTable table{registry_.List(), registry_.default_id(), {}};
  for (const LoadingModel& model : Loading()) table.coming.push_back({model.id, model.path});
  auto selected = SelectModelForRequest(table, id, needs, policy());
  if (!selected) {
    const NoSelection& refused = selected.error();
    if (refused.why == NoSelection::Why::kMissingCapability) {
      metrics_
          .GetCounter("inferflux_capability_rejections_total", "Requests that the model's backend cannot serve.",
                      {{"backend", refused.model->exposure.exposed_backend},
                       {"feature", std::string(FeatureName(*refused.feature))}})
          .Add();
    }
    return tl::make_unexpected(refused);
  }
  if (selected->instead_of) {
    metrics_
        .GetCounter("inferflux_capability_route_fallbacks_total",
                    "Requests on the default route that went to another backend, by what the first one lacks.",
                    {{"from_backend", selected->instead_of->exposure.exposed_backend},
                     {"to_backend", selected->model->exposure.exposed_backend},
                     {"feature", std::string(FeatureName(*selected->feature))}})
        .Add();
  }
  return std::move(selected->model);
}

void ModelManager::CountLoaded(const ServedModel& model, double seconds) {
  const BackendExposure& exposure = model.exposure;
  metrics_
      .GetCounter("inferflux_backend_exposures_total", "Models loaded, by requested and exposed backend.",
                  {{"requested_backend", exposure.normalised_request},
                   {"exposed_backend", exposure.exposed_backend},
                   {"provider", exposure.provider},
                   {"fallback", exposure.fallback ? "true" : "false"}})
      .Add();
  metrics_
      .GetGauge("inferflux_model_load_seconds", "How long the model's last load took, failed tries included.",
                {{"model", model.id}, {"backend", exposure.exposed_backend}})
      .Set(seconds);
  metrics_.GetGauge("inferflux_model_ready", "1 where the model serves.", {{"model", model.id}}).Set(1);
  CountEvent("loaded");
}

void ModelManager::CountEvent(const std::string& event) {
  metrics_
      .GetCounter("inferflux_model_load_events_total", "Loads, failures to load and unloads of models.",
                  {{"event", event}})
      .Add();
}

}  // namespace inferflux::serving
