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
                                        {{"model", model_}})),
      prefills_(metrics.GetCounter("inferflux_worker_prefills_total",
                                   "Prompts that a worker for prompts has computed and handed over.",
                                   {{"model", model_}})) {}

void ModelWorkers::Forget(int worker) {
  const std::lock_guard lock(mutex_);
  router_.Forget(worker);
}

void ModelWorkers::Add(std::shared_ptr<ManagedWorker> worker, bool prefill) {
  if (prefill) prefill_.insert(worker->number());
  workers_.push_back(std::move(worker));
}

ModelWorkers::Serving ModelWorkers::FindServing(bool prefill, const WorkerLink* except) const {
  Serving out;
  for (const auto& worker : workers_) {
    if (prefill_.contains(worker->number()) != prefill) continue;
    auto link = worker->link();
    if (!link || link.get() == except) continue;
    const RouteChoice choice{worker->number(), link->in_flight};
    out.emplace_back(choice, std::move(link));
  }
  return out;
}

std::vector<RouteChoice> ModelWorkers::ChoicesOf(const Serving& serving) {
  std::vector<RouteChoice> out;
  for (const auto& [choice, link] : serving) out.push_back(choice);
  return out;
}

std::shared_ptr<WorkerLink> ModelWorkers::LinkOf(const Serving& serving, int worker) {
  return std::ranges::find(serving, worker, [](const auto& entry) { return entry.first.worker; })->second;
}

Result<std::shared_ptr<WorkerLink>> ModelWorkers::Route(const scheduler::GenerationRequest& request,
                                                        const WorkerLink* except) {
  Serving serving = FindServing(false, except);
  if (serving.empty()) serving = FindServing(true, except);
  if (serving.empty()) {
    return Fail(ErrorCode::kUnavailable, "no worker of the model '{}' serves at the moment; try again in a second",
                model_);
  }
  Routed routed;
  {
    const std::lock_guard lock(mutex_);
    routed = router_.Route(request, ChoicesOf(serving));
  }
  prefix_tokens_.Add(routed.prefix_tokens);
  return LinkOf(serving, routed.worker);
}

std::shared_ptr<WorkerLink> ModelWorkers::RoutePrefill(const scheduler::GenerationRequest& request) {
  const bool generates = !request.embed && !request.score && !request.next_tokens && !request.prompt_logprobs;
  if (prefill_.empty() || !generates || request.prompt.size() < kWorthPrefill) return nullptr;
  const Serving prompts = FindServing(true, nullptr), others = FindServing(false, nullptr);
  if (prompts.empty() || others.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto known = static_cast<size_t>(router_.LongestPrefix(request, ChoicesOf(others)));
  if (request.prompt.size() - known < kWorthPrefill) return nullptr;
  return LinkOf(prompts, router_.RoutePrefill(request, ChoicesOf(prompts)));
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
    out.kv_blocks_cached += view.load.kv_blocks_cached;
    out.preemptions += view.load.preemptions;
    out.drafted_tokens += view.load.drafted_tokens;
    out.accepted_tokens += view.load.accepted_tokens;
    out.graphs += view.load.graphs;
    out.graph_replays += view.load.graph_replays;
    out.graph_refusals += view.load.graph_refusals;
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
