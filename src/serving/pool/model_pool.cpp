#include "serving/pool/model_pool.h"

#include <utility>

#include "base/log.h"
#include "config/model_setting.h"

namespace inferflux::serving {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopPoll{20};

double SecondsSince(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

// Whether both would load the same model.
bool SameLoad(const LoadRequest& a, const LoadRequest& b) {
  return a.id == b.id && a.path == b.path && a.requested_backend == b.requested_backend && a.context == b.context &&
         a.format == b.format && a.draft == b.draft && a.config == b.config;
}

std::shared_future<ModelPool::Loaded> AlreadyDone(ModelPool::Loaded loaded) {
  std::promise<ModelPool::Loaded> promise;
  promise.set_value(std::move(loaded));
  return promise.get_future().share();
}

// Whether a later try may succeed although nothing changed on disk.
bool IsPassing(ErrorCode code) {
  return code == ErrorCode::kResourceExhausted || code == ErrorCode::kCancelled || code == ErrorCode::kUnavailable;
}

}  // namespace

ModelPool::ModelPool(const BackendFactory& factory, metrics::Registry& metrics, LoadRequest defaults,
                     PoolOptions options)
    : factory_(factory),
      metrics_(metrics),
      defaults_(std::move(defaults)),
      options_(std::move(options)),
      budget_(options_.memory_budget > 0 ? options_.memory_budget : DefaultPoolBudget()) {
  metrics_.SetUse(use());
  unloads_idle_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) idle_->Wait(UnloadIdle());
  });
}

ModelPool::~ModelPool() {
  unloads_idle_.request_stop();
  idle_->Wake();
}

ModelPool::Loaded ModelPool::LoadModel(std::string_view name, std::stop_token stop) {
  const std::string text(name);
  const auto done = text.find('/') == std::string::npos ? StartLoadOf(text) : LoadPath(text);
  while (stop.stop_possible() && done.wait_for(kStopPoll) != std::future_status::ready) {
    if (stop.stop_requested()) {
      return Fail(ErrorCode::kCancelled, "the wait for the model '{}' was cancelled; its load goes on", name);
    }
  }
  return done.get();
}

std::shared_future<ModelPool::Loaded> ModelPool::LoadPath(std::string path) {
  LoadRequest request = defaults_;
  request.id = config::ModelIdOf(path);
  request.path = std::move(path);
  const std::lock_guard lock(mutex_);
  if (auto loaded = FindLocked(request.id); loaded && (*loaded)->info.path == request.path)
    return AlreadyDone(std::move(loaded));
  return BeginLocked(std::move(request), false, true);
}

std::shared_future<ModelPool::Loaded> ModelPool::StartLoadOf(const std::string& name) {
  const auto find = [&]() -> std::optional<std::shared_future<Loaded>> {
    if (auto loaded = FindLocked(name)) return AlreadyDone(std::move(loaded));
    for (const Running& other : loading_) {
      if (other.request.id == name) return other.done;
    }
    return std::nullopt;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = find()) return *found;
  }
  auto request = RequestFor(name);  // reads the directory, so without the lock
  if (!request) return AlreadyDone(Forward(request));
  const std::lock_guard lock(mutex_);
  if (const auto found = find()) return *found;
  return BeginLocked(std::move(*request), false, true);
}

Result<LoadRequest> ModelPool::RequestFor(const std::string& name) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto offer = offers_.find(name); offer != offers_.end()) return offer->second;
  }
  const auto unknown = [&] { return Fail(ErrorCode::kNotFound, "there is no model '{}'; {}", name, WhatThereIs()); };
  if (!options_.directory) return unknown();
  auto path = options_.directory->Find(name);
  if (!path && path.error().code == ErrorCode::kNotFound) return unknown();
  if (!path) return Forward(path);
  LoadRequest request = defaults_;
  request.id = name;
  request.path = std::move(*path);
  return request;
}

Result<std::string> ModelPool::PathOf(const std::string& name) const {
  return RequestFor(name).map([](const LoadRequest& request) { return request.path; });
}

ModelPool::Loaded ModelPool::GetLoadedModel(std::string_view name) const {
  {
    const std::lock_guard lock(mutex_);
    if (auto found = FindLocked(name)) return found;
  }
  return Fail(ErrorCode::kNotFound, "the model '{}' is not loaded; {}", name, WhatThereIs());
}

ModelPool::Loaded ModelPool::Load(LoadRequest request, bool is_default) {
  return StartLoad(std::move(request), is_default).get();
}

std::shared_future<ModelPool::Loaded> ModelPool::StartLoad(LoadRequest request, bool is_default) {
  const std::lock_guard lock(mutex_);
  return BeginLocked(std::move(request), is_default, false);
}

std::shared_future<ModelPool::Loaded> ModelPool::FindOrStartLoad(LoadRequest request) {
  const std::lock_guard lock(mutex_);
  if (auto loaded = FindLocked(request.id)) return AlreadyDone(std::move(loaded));
  return BeginLocked(std::move(request), false, false);
}

std::shared_future<ModelPool::Loaded> ModelPool::BeginLocked(LoadRequest request, bool is_default, bool first_use) {
  for (Running& other : loading_) {
    if (other.request.id != request.id) continue;
    if (!SameLoad(other.request, request)) {
      return AlreadyDone(Fail(ErrorCode::kInvalidArgument,
                              "a model '{}' is being loaded already, with another path or other settings; wait for it, "
                              "or choose another id",
                              request.id));
    }
    other.is_default |= is_default;
    return other.done;
  }
  if (Status free = registry_.CheckId(request.id); !free) return AlreadyDone(Forward(free));
  if (first_use) metrics_.CountFirstUse();
  request.metrics = &metrics_.registry();
  const Place place = loading_.insert(
      loading_.end(), Running{.request = std::move(request), .is_default = is_default, .first_use = first_use});
  place->request.progress = place->progress;
  place->request.reserve = [this, place](const HostMemoryNeed& need) { return Reserve(place, need); };
  loader_.Run([this, place] { Run(place); });
  return place->done;
}

void ModelPool::Run(Place place) {
  {
    const std::lock_guard lock(mutex_);
    place->began = Clock::now();
  }
  Loaded loaded = serving::LoadModel(factory_, place->request);
  std::promise<Loaded> promise;
  {
    // Adds the model before the load leaves the list: a load of the same id always finds one of them.
    const std::lock_guard lock(mutex_);
    if (loaded) {
      if (Status added = registry_.Add(*loaded, place->is_default); !added) loaded = Forward(added);
    }
    if (loaded) {
      AdmitLocked(place, *loaded);
      loaded = LendLocked(std::move(*loaded));
    } else {
      metrics_.CountEvent("failed");
      if (place->first_use) log::Warning("{} is not loaded: {}", place->request.id, loaded.error().message);
    }
    promise = std::move(place->promise);
  }
  if (!loaded && place->first_use && !IsPassing(loaded.error().code)) RecordFailure(place->request, loaded.error());
  {
    const std::lock_guard lock(mutex_);
    loading_.erase(place);
  }
  metrics_.SetUse(use());
  promise.set_value(std::move(loaded));
  idle_->Wake();
}

void ModelPool::AdmitLocked(Place place, const std::shared_ptr<const ServedModel>& model) {
  place->claim.Resize(HostMemoryOf(*model, place->need, place->granted_kv));
  const LoadRequest& request = place->request;
  residents_.insert_or_assign(model->id, Resident{.use = std::make_shared<ModelUse>(idle_),
                                                  .claim = std::move(place->claim),
                                                  .pinned = request.pinned,
                                                  .keep_alive = request.keep_alive.value_or(options_.keep_alive)});
  metrics_.CountLoaded(*model, SecondsSince(place->began));
  std::erase_if(failed_, [&](const FailedModel& failed) { return failed.id == model->id; });
  withdrawn_.erase(model->id);
}

void ModelPool::Offer(LoadRequest request) {
  const std::lock_guard lock(mutex_);
  std::string id = request.id;
  offers_.insert_or_assign(std::move(id), std::move(request));
}

Status ModelPool::Add(std::shared_ptr<const ServedModel> model, bool is_default) {
  const std::lock_guard lock(mutex_);
  std::string id = model->id;
  if (Status added = registry_.Add(std::move(model), is_default); !added) return added;
  residents_.insert_or_assign(std::move(id), Resident{.use = std::make_shared<ModelUse>(idle_), .pinned = true});
  return {};
}

}  // namespace inferflux::serving
