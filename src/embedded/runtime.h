// What the models of a program share: compute threads, the engines of this build, the pool. A program's pool is the
// server's (serving/pool/).
#pragma once

#include <inferflux/engine.h>
#include <inferflux/model_pool.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "embedded/call_error.h"
#include "metrics/registry.h"
#include "serving/backends/backend_factory.h"
#include "serving/pool/model_pool.h"

namespace inferflux::embedded {

// Any thread.
class Runtime : public std::enable_shared_from_this<Runtime> {
 public:
  static Result<std::shared_ptr<Runtime>> Create(const PoolOptions& options);

  // As Engine::Load. A stop request ends the load.
  Result<Engine> LoadPath(const std::string& path, const LoadOptions& options);
  // As ModelPool::LoadModel. A stop request ends the wait, and never the load, which others may wait for.
  Result<Engine> LoadModel(const std::string& name, const LoadOptions& options);
  Result<Engine> GetLoadedModel(const std::string& name);
  std::vector<PoolModel> List() const;
  Status Unload(const std::string& name, std::chrono::milliseconds grace);

 private:
  using Served = std::shared_ptr<const serving::ServedModel>;

  Runtime(int threads, serving::PoolOptions options);

  Status CheckThreads(const LoadOptions& options) const;
  Result<Engine> Load(serving::LoadRequest request, const LoadOptions& options);
  Result<Served> Wait(const std::shared_future<serving::ModelPool::Loaded>& load, const LoadOptions& options) const;
  bool IsLoading(const std::string& id) const;

  ThreadPool threads_;
  metrics::Registry metrics_;
  const serving::BackendFactory factory_;
  std::mutex mutex_;                            // held while a load is found or begun
  std::map<std::string, LoadOptions> options_;  // with which each model was loaded last
  serving::ModelPool pool_;                     // destroyed first: it uses everything above
};

}  // namespace inferflux::embedded
