// The workers of one model: where its requests go.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "metrics/registry.h"
#include "worker/pool/managed_worker.h"
#include "worker/pool/worker_router.h"
#include "worker/remote/worker_link.h"

namespace inferflux::worker {

class ModelWorkers final : public WorkerDirectory {
 public:
  // A prompt with at least so many tokens that its worker has not seen goes to a worker for prompts first.
  static constexpr size_t kWorthPrefill = 256;

  ModelWorkers(std::string model, metrics::Registry& metrics);

  // Before the first request. `prefill`: it only computes prompts, as long as others serve.
  void Add(std::shared_ptr<ManagedWorker> worker, bool prefill);
  const std::vector<std::shared_ptr<ManagedWorker>>& workers() const { return workers_; }
  // A worker has lost its KV.
  void Forget(int worker);

  Result<std::shared_ptr<WorkerLink>> Route(const scheduler::GenerationRequest& request,
                                            const WorkerLink* except) override;
  std::shared_ptr<WorkerLink> RoutePrefill(const scheduler::GenerationRequest& request) override;
  void CountPrefill() override { prefills_.Add(); }
  std::vector<std::shared_ptr<WorkerLink>> Links() const override;
  scheduler::SchedulerStats stats() const override;
  void CountRetry() override { retries_.Add(); }
  // Retires the workers, and waits until they have ended. Not on the thread that supervises them.
  void Stop() override;

 private:
  using Serving = std::vector<std::pair<RouteChoice, std::shared_ptr<WorkerLink>>>;
  Serving FindServing(bool prefill, const WorkerLink* except) const;
  static std::vector<RouteChoice> ChoicesOf(const Serving& serving);
  static std::shared_ptr<WorkerLink> LinkOf(const Serving& serving, int worker);

  const std::string model_;
  metrics::Counter retries_;
  metrics::Counter prefix_tokens_;
  metrics::Counter prefills_;
  std::vector<std::shared_ptr<ManagedWorker>> workers_;
  std::set<int> prefill_;  // numbers of the workers that only compute prompts
  std::mutex mutex_;       // guards the router
  WorkerRouter router_;
};

}  // namespace inferflux::worker
