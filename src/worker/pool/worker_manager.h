// Starts the worker programs that the models need, supervises them, and takes their callbacks. One object for a server.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "metrics/registry.h"
#include "net/router.h"
#include "net/server.h"
#include "serving/backends/backend_factory.h"
#include "serving/models/load_model.h"
#include "worker/pool/managed_worker.h"
#include "worker/pool/model_workers.h"
#include "worker/token.h"

namespace inferflux::worker {

struct PoolOptions {
  std::string directory;  // of the worker programs; empty: that of this program
  int32_t count = 1;      // workers of a model
  int32_t prefill = 0;    // of these, how many only compute prompts; fewer than `count`
  int32_t threads = 0;    // of a worker; 0: one for each core that it may use
  // The words that start a worker whose model several ranks share, before "-n", their number and the worker's own;
  // empty: the worker starts the ranks, on this host.
  std::vector<std::string> rank_launcher;
  int32_t expected = 1;  // workers that will run on the CPU, among which its cores are divided
  std::string log_level = "info";
  std::string log_format = "text";
  WorkerTimes times;
};

class WorkerManager {
 public:
  // Begins to listen for callbacks, on the loopback address. `metrics` must outlive the manager.
  static Result<std::unique_ptr<WorkerManager>> Start(PoolOptions options, metrics::Registry& metrics);
  // Ends every worker. The models that use them must have been stopped.
  ~WorkerManager();

  // The engines for which there is a worker program; the others become absent, with the reason.
  std::vector<serving::EngineEntry> WithPrograms(std::vector<serving::EngineEntry> engines) const;

  // Starts the workers of a model on one engine, and returns when all serve: for LoadRequest::start. It fails with the
  // reason of the first that ends before it serves; kResourceExhausted, before anything is started, if they do not fit
  // into memory. The manager must outlive the models.
  serving::EngineStarter Starter();

  std::vector<WorkerView> List() const;
  // kNotFound if there is no such worker.
  Status Drain(const std::string& id);
  Status Restart(const std::string& id);
  Result<std::vector<std::string>> Log(const std::string& id) const;

 private:
  WorkerManager(PoolOptions options, metrics::Registry& metrics, Token token);

  Status Listen();
  net::Router CallbackRoutes();
  Result<serving::StartedEngine> StartEngine(const serving::EngineEntry& engine,
                                             const serving::EngineRequest& engine_request,
                                             const serving::LoadRequest& request);
  Status AwaitReady(const ModelWorkers& workers, const serving::LoadRequest& request) const;
  WorkerSpec MakeSpec(const serving::EngineEntry& engine, const serving::EngineRequest& engine_request,
                      const serving::LoadRequest& request);
  std::vector<int> TakeCores(const serving::EngineEntry& engine);
  std::shared_ptr<ManagedWorker> Find(std::string_view id) const;
  void DropEnded();

  const PoolOptions options_;
  metrics::Registry& metrics_;
  const Token token_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<net::Server> callbacks_;
  std::string callback_url_;

  mutable std::mutex mutex_;  // guards everything below, but for the thread
  std::vector<std::shared_ptr<ManagedWorker>> workers_;
  std::vector<std::pair<int, int>> cores_;  // how many workers use which core
  int next_number_ = 1;
  std::thread thread_;  // runs io_
};

}  // namespace inferflux::worker
