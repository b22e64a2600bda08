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

}  // namespace

Status ModelManager::Reserve(const LoadRequest& request, std::list<Running>::iterator& place) {
  if (Status free = registry_.CheckId(request.id); !free) return free;
  const std::lock_guard lock(mutex_);
  for (const Running& other : loading_) {
    if (other.model.id == request.id) {
      return Fail(ErrorCode::kInvalidArgument, "a model '{}' is being loaded already", request.id);
    }
  }
  loading_.push_back({{.id = request.id, .path = request.path, .requested_backend = request.requested_backend},
                      std::make_shared<LoadProgress>(),
                      std::chrono::steady_clock::now()});
  place = std::prev(loading_.end());
  return {};
}

Result<std::shared_ptr<const ServedModel>> ModelManager::Load(LoadRequest request, bool is_default) {
  std::list<Running>::iterator place;
  if (Status reserved = Reserve(request, place); !reserved) return Forward(reserved);
  request.progress = place->progress;
  request.metrics = &metrics_;
  auto loaded = LoadModel(factory_, request);
  const double seconds = SecondsSince(place->began);
  {
    const std::lock_guard lock(mutex_);
    loading_.erase(place);
  }
  if (!loaded) {
    CountEvent(request.id, "failed");
    return loaded;
  }
  if (Status added = registry_.Add(*loaded, is_default); !added) return Forward(added);
  CountLoaded(**loaded, seconds);
  return loaded;
}

Status ModelManager::Unload(const std::string& id, std::chrono::milliseconds grace) {
  auto model = registry_.Remove(id);
  if (!model) return Forward(model);
  const auto until = std::chrono::steady_clock::now() + grace;
  // Nobody can find it any more, so the count only falls: each request in flight holds the model until its last byte.
  while (model->use_count() > 1 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kDrainPoll);
  (*model)->scheduler->Stop();
  metrics_.GetGauge("inferflux_model_ready", "1 where the model serves.", {{"model", id}}).Set(0);
  CountEvent(id, "unloaded");
  log::Info("{} is unloaded", id);
  return {};
}

std::vector<LoadingModel> ModelManager::Loading() const {
  const std::lock_guard lock(mutex_);
  std::vector<LoadingModel> out;
  for (const Running& running : loading_) {
    out.push_back(running.model);
    out.back().progress = running.progress->Read();
    out.back().seconds = SecondsSince(running.began);
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
      .GetCounter("inferflux_backend_exposures_total", "Models loaded, by what was asked for and what was given.",
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
  CountEvent(model.id, "loaded");
}

void ModelManager::CountEvent(const std::string& model, const std::string& event) {
  metrics_
      .GetCounter("inferflux_model_load_events_total", "Loads, failures to load and unloads, by model.",
                  {{"model", model}, {"event", event}})
      .Add();
}

}  // namespace inferflux::serving
