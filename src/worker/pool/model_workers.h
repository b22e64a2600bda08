// The workers of one model: where its requests go.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "metrics/registry.h"
#include "worker/pool/managed_worker.h"
#include "worker/pool/worker_router.h"
#include "worker/remote/worker_link.h"

namespace inferflux::worker {

class ModelWorkers final : public WorkerDirectory {
 public:
  ModelWorkers(std::string model, metrics::Registry& metrics);

  // Before the first request.
  void Add(std::shared_ptr<ManagedWorker> worker) { workers_.push_back(std::move(worker)); }
  const std::vector<std::shared_ptr<ManagedWorker>>& workers() const { return workers_; }
  // A worker has lost its KV.
  void Forget(int worker);

  Result<std::shared_ptr<WorkerLink>> Route(const scheduler::GenerationRequest& request,
                                            const WorkerLink* except) override;
  std::vector<std::shared_ptr<WorkerLink>> Links() const override;
  scheduler::SchedulerStats stats() const override;
  void CountRetry() override { retries_.Add(); }
  // Retires the workers, and waits until they have ended. Not on the thread that supervises them.
  void Stop() override;

 private:
  const std::string model_;
  metrics::Counter retries_;
  metrics::Counter prefix_tokens_;
  std::vector<std::shared_ptr<ManagedWorker>> workers_;
  std::mutex mutex_;  // guards the router
  WorkerRouter router_;
};

}  // namespace inferflux::worker
