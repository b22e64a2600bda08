// All requests that a step loop has accepted and not ended.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/queue/request.h"
#include "scheduler/queue/token_shares.h"
#include "scheduler/queue/waiting_queue.h"

namespace inferflux::scheduler {

// What the size of a step is chosen for.
enum class StepGoal {
  kThroughput,  // as much prefill as the budget of tokens allows
  kLatency,     // a step lasts at most three times as long as one of its decodes alone
};

// How a step loop shares out its steps.
struct StepPolicy {
  StepGoal goal = StepGoal::kThroughput;
  Speculation speculation;                  // of requests that do not say
  int32_t max_batch_tokens = 0;             // rows of one step, decodes always fit; 0: what the engine does best
  int32_t max_running = 0;                  // sequences that hold KV at once; 0: as many as the engine may have
  std::chrono::seconds priority_aging{10};  // so long a wait counts as one class of priority
};

struct Workload {
  explicit Workload(const StepPolicy& policy) : waiting(policy.priority_aging) {}

  std::vector<RequestPtr> running;  // hold KV; in order of rank (Outranks)
  WaitingQueue waiting;
  TokenShares shares;
};

}  // namespace inferflux::scheduler
