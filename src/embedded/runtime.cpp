#include "embedded/runtime.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/usable_cores.h"
#include "config/model_setting.h"
#include "embedded/load_request.h"
#include "embedded/loaded_model_state.h"
#include "serving/backends/built_in_engines.h"

namespace inferflux::embedded {
namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr std::chrono::milliseconds kStopPoll{20};

}  // namespace

Runtime::Runtime(int threads, serving::PoolOptions options)
    : threads_(threads),
      factory_(serving::BuiltInEngines(threads_), {}),
      pool_(factory_, metrics_, serving::LoadRequest(), std::move(options)) {}

Result<std::shared_ptr<Runtime>> Runtime::Create(const PoolOptions& options) {
  const int64_t threads = options.threads.value_or(UsableCores());
  if (threads < 1 || threads > kMaxThreads) {
    return FailAt("threads", Error::kNoPosition, "threads is {}; it must be from 1 to {}", threads, kMaxThreads);
  }
  serving::PoolOptions pool;
  if (options.memory_budget) {
    if (*options.memory_budget < 1) {
      return FailAt("memory_budget", Error::kNoPosition, "memory_budget is {}; it must be at least 1 byte",
                    *options.memory_budget);
    }
    pool.memory_budget = *options.memory_budget;
  }
  if (!options.models_dir.empty()) {
    auto directory = serving::ModelsDirectory::Open(options.models_dir);
    if (!directory) return Refuse(Stage::kFind, directory.error());
    pool.directory = std::move(*directory);
  }
  return std::shared_ptr<Runtime>(new Runtime(static_cast<int>(threads), std::move(pool)));
}

Status Runtime::CheckThreads(const LoadOptions& options) const {
  if (!options.threads || *options.threads == threads_.workers()) return {};
  return FailAt("threads", Error::kNoPosition, "threads is {}, and the pool's models share {} threads",
                *options.threads, threads_.workers());
}

Result<Engine> Runtime::LoadPath(const std::string& path, const LoadOptions& options) {
  auto request = ToLoadRequest(config::ModelIdOf(path), path, options);
  if (!request) return Forward(request);
  request->stop = options.cancel;
  return Load(std::move(*request), options);
}

Result<Engine> Runtime::LoadModel(const std::string& name, const LoadOptions& options) {
  if (auto checked = CheckThreads(options); !checked) return Forward(checked);
  const bool is_path = name.find('/') != std::string::npos;
  const std::string id = is_path ? config::ModelIdOf(name) : name;
  std::string path = name;
  if (const auto loaded = pool_.GetLoadedModel(id); loaded && !is_path) {
    path = (*loaded)->info.path;
  } else if (!is_path) {
    auto found = pool_.PathOf(name);
    if (!found) {
      const bool unknown = found.error().code == inferflux::ErrorCode::kNotFound;
      return Refuse(unknown ? Stage::kFind : Stage::kConfigure, found.error());
    }
    path = std::move(*found);
  }
  auto request = ToLoadRequest(id, std::move(path), options);
  if (!request) return Forward(request);
  return Load(std::move(*request), options);
}

Result<Engine> Runtime::Load(serving::LoadRequest request, const LoadOptions& options) {
  const std::string id = request.id;
  std::shared_future<serving::ModelPool::Loaded> load;
  LoadOptions given = options;
  {
    const std::lock_guard lock(mutex_);
    auto loaded = pool_.GetLoadedModel(id);
    if (loaded || IsLoading(id)) {
      given = options_[id];
      if (auto same = CheckSameLoad(id, options, given); !same) return Forward(same);
    }
    if (loaded) return Engine(DescribeLoaded(shared_from_this(), std::move(*loaded), given));
    load = pool_.FindOrStartLoad(std::move(request));  // a running load may have ended meanwhile
    options_.insert_or_assign(id, given);
  }
  auto model = Wait(load, options);
  if (!model) return Forward(model);
  return Engine(DescribeLoaded(shared_from_this(), std::move(*model), given));
}

Result<Runtime::Served> Runtime::Wait(const std::shared_future<serving::ModelPool::Loaded>& load,
                                      const LoadOptions& options) const {
  while (options.cancel.stop_possible() && load.wait_for(kStopPoll) != std::future_status::ready) {
    if (options.cancel.stop_requested()) {
      return Refuse({.code = ErrorCode::kCancelled, .message = "the wait for the model's load was cancelled"});
    }
  }
  const auto& loaded = load.get();
  if (!loaded) return Refuse(OfLoad(loaded.error()));
  return *loaded;
}

bool Runtime::IsLoading(const std::string& id) const {
  return std::ranges::any_of(pool_.Loading(), [&](const serving::LoadingModel& model) { return model.id == id; });
}

Result<Engine> Runtime::GetLoadedModel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto loaded = pool_.GetLoadedModel(name);
  if (!loaded) return Refuse({.code = ErrorCode::kModelNotFound, .message = loaded.error().message});
  return Engine(DescribeLoaded(shared_from_this(), std::move(*loaded), options_[name]));
}

std::vector<PoolModel> Runtime::List() const {
  std::vector<PoolModel> out;
  for (const Served& model : pool_.List()) out.push_back({.name = model->id, .loaded = true});
  for (const serving::UnloadedModel& model : pool_.Unloaded()) out.push_back({.name = model.id});
  return out;
}

Status Runtime::Unload(const std::string& name, std::chrono::milliseconds grace) {
  if (auto unloaded = pool_.Unload(name, grace); !unloaded) return Refuse(Stage::kFind, unloaded.error());
  return {};
}

}  // namespace inferflux::embedded
