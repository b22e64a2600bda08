#include "worker/pool/model_workers.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace inferflux::worker {

ModelWorkers::ModelWorkers(std::string model, metrics::Registry& metrics)
    : model_(std::move(model)),
      retries_(metrics.GetCounter(
          "inferflux_worker_retries_total",
          "Requests that went to another worker because theirs was lost before the first token.", {{"model", model_}})),
      prefix_tokens_(metrics.GetCounter("inferflux_worker_prefix_tokens_total",
                                        "Tokens of prompts that went to a worker which had been sent them before.",
                                        {{"model", model_}})) {}

void ModelWorkers::Forget(int worker) {
  const std::lock_guard lock(mutex_);
  router_.Forget(worker);
}

Result<std::shared_ptr<WorkerLink>> ModelWorkers::Route(const scheduler::GenerationRequest& request,
                                                        const WorkerLink* except) {
  std::vector<RouteChoice> choices;
  std::vector<std::pair<int, std::shared_ptr<WorkerLink>>> links;
  for (const auto& worker : workers_) {
    auto link = worker->link();
    if (!link || link.get() == except) continue;
    choices.push_back({worker->number(), link->in_flight});
    links.emplace_back(worker->number(), std::move(link));
  }
  if (choices.empty()) {
    return Fail(ErrorCode::kUnavailable, "no worker of the model '{}' serves at the moment; try again in a second",
                model_);
  }
  Routed routed;
  {
    const std::lock_guard lock(mutex_);
    routed = router_.Route(request, choices);
  }
  prefix_tokens_.Add(routed.prefix_tokens);
  return std::ranges::find(links, routed.worker, [](const auto& entry) { return entry.first; })->second;
}

std::vector<std::shared_ptr<WorkerLink>> ModelWorkers::Links() const {
  std::vector<std::shared_ptr<WorkerLink>> out;
  for (const auto& worker : workers_) {
    if (auto link = worker->link()) out.push_back(std::move(link));
  }
  return out;
}

// The last heartbeats' sums; running requests are those that the pool knows of.
scheduler::SchedulerStats ModelWorkers::stats() const {
  scheduler::SchedulerStats out;
  for (const auto& worker : workers_) {
    const WorkerView view = worker->View();
    out.running += view.in_flight;
    out.queued += view.load.queued;
    out.kv_blocks_used += view.load.kv_blocks_used;
    out.kv_blocks_free += view.load.kv_blocks_free;
    out.preemptions += view.load.preemptions;
    out.drafted_tokens += view.load.drafted_tokens;
    out.accepted_tokens += view.load.accepted_tokens;
    out.retry_after_seconds = std::max(out.retry_after_seconds, view.load.retry_after_seconds);
  }
  return out;
}

void ModelWorkers::Stop() {
  for (const auto& worker : workers_) worker->Retire();
  // Supervision kills what does not end within its grace time, so this ends.
  while (!std::ranges::all_of(workers_, [](const auto& worker) { return worker->ended(); })) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace inferflux::worker
