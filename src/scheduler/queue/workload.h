// All requests that a scheduler has accepted and not ended.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/queue/request.h"
#include "scheduler/queue/token_shares.h"
#include "scheduler/queue/waiting_queue.h"

namespace inferflux::scheduler {

// The goal that decides the size of a step.
enum class StepGoal {
  kThroughput,  // as much prefill as the token budget allows
  kLatency,     // a step takes at most three times as long as its decodes alone
};

// How a scheduler shares out its steps.
struct StepPolicy {
  StepGoal goal = StepGoal::kThroughput;
  Speculation speculation;                  // of requests that name none
  int32_t max_batch_tokens = 0;             // rows of one step (decodes always fit); 0: the engine's best step size
  int32_t max_running = 0;                  // sequences that hold KV at once; 0: the engine's limit
  std::chrono::seconds priority_aging{10};  // a wait of this length raises the priority by one
};

struct Workload {
  explicit Workload(const StepPolicy& policy) : waiting(policy.priority_aging) {}

  std::vector<RequestPtr> running;  // requests that hold KV, in order of rank (Outranks)
  WaitingQueue waiting;
  TokenShares shares;
};

}  // namespace inferflux::scheduler
