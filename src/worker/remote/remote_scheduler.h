// The GenerationService of a model that workers run: sends each request to a worker and turns the events of its answer
// into the request's stream. What is above a scheduler does not notice the difference.
//
// A request whose worker fails before its first token is sent to another worker, once. After the first token its stream
// ends with an error.
//
// Where some workers only compute prompts, a long prompt goes to one of those first; the worker that generates takes
// the KV from the store that both share. If anything of that fails, it computes the prompt itself.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <set>

#include "engine/engine.h"
#include "metrics/model_metrics.h"
#include "scheduler/generation_service.h"
#include "worker/remote/poster.h"
#include "worker/remote/worker_link.h"

namespace inferflux::worker {

class RemoteScheduler final : public scheduler::GenerationService {
 public:
  // One thread runs `io`, until after Stop has returned. `info` is what the workers' engines report.
  RemoteScheduler(boost::asio::io_context& io, std::shared_ptr<WorkerDirectory> workers, engine::EngineInfo info,
                  metrics::ModelMetrics metrics);
  ~RemoteScheduler() override;

  Result<std::shared_ptr<scheduler::TokenStream>> Submit(scheduler::GenerationRequest request) override;
  void Session(scheduler::SessionCommand command, scheduler::SessionReply reply) override;
  scheduler::SchedulerStats stats() const override { return workers_->stats(); }
  void Drain(bool running) override;
  const scheduler::RequestHistory* history() const override { return &history_; }
  void Stop() override;

 private:
  struct Call;
  using CallPtr = std::shared_ptr<Call>;

  boost::asio::awaitable<void> Run(CallPtr call);
  boost::asio::awaitable<void> Prefill(Call& call, WorkerLink& link);
  boost::asio::awaitable<Status> Attempt(Call& call, WorkerLink& link);
  boost::asio::awaitable<Status> ReadEvents(Call& call, net::Exchange& exchange);
  boost::asio::awaitable<void> RunSession(scheduler::SessionCommand command, scheduler::SessionReply reply);
  void OnWake(Call& call);
  void Deliver(Call& call, scheduler::StreamEvent event);
  void Forget(const CallPtr& call);

  boost::asio::io_context& io_;
  const std::shared_ptr<WorkerDirectory> workers_;
  const engine::EngineInfo info_;
  const std::shared_ptr<Poster> poster_;
  metrics::ModelMetrics metrics_;
  void Hasten();

  std::atomic<bool> draining_{false};  // takes no more requests
  std::atomic<bool> cut_{false};       // ends those that it has
  scheduler::RequestHistory history_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> next_id_{1};
  const uint32_t nonce_ = std::random_device()();  // tells this pool's prompts from others' in one store
  std::once_flag stopped_;
  std::mutex mutex_;  // guards calls_
  std::condition_variable idle_;
  std::set<CallPtr> calls_;
};

}  // namespace inferflux::worker
