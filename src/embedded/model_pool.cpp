#include <inferflux/model_pool.h>

#include <utility>

#include "embedded/runtime.h"

namespace inferflux::embedded {

Result<ModelPool> ModelPool::Open(const PoolOptions& options) {
  auto runtime = Runtime::Create(options);
  if (!runtime) return Forward(runtime);
  return ModelPool(std::move(*runtime));
}

Result<Engine> ModelPool::LoadModel(const std::string& name, const LoadOptions& options) const {
  return runtime_->LoadModel(name, options);
}

Result<Engine> ModelPool::GetLoadedModel(const std::string& name) const { return runtime_->GetLoadedModel(name); }
std::vector<PoolModel> ModelPool::List() const { return runtime_->List(); }

Status ModelPool::Unload(const std::string& name, std::chrono::milliseconds grace) const {
  return runtime_->Unload(name, grace);
}

}  // namespace inferflux::embedded
