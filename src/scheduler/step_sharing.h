// How accounts share the steps of an engine, beside the order of their requests (queue/token_shares.h).
//
// A short prompt of the account that was served least need not wait until the rows of all others are computed with it:
// it gets a step without the accounts that have more rows, if that takes less than half as long. So the first token
// comes after the step that runs and a short one. The others are delayed by that short step, and come first when they
// were served less. Where steps cost the same whatever their rows, as where weights are read from memory for each of
// them, all rows stay together.
//
// While several accounts use the engine, a step takes no more of a long prompt than makes it efficient, since a prompt
// that arrives waits for the step that runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "scheduler/queue/workload.h"
#include "scheduler/step_times.h"

namespace inferflux::scheduler {

class StepSharing {
 public:
  static constexpr std::chrono::seconds kMemory{1};  // so long an account counts after its last request
  static constexpr int32_t kLeastPromptRows = 64;

  // Once for each step: notes which accounts are present.
  void Look(const Workload& load, TimePoint now);
  void Observe(int32_t rows, double seconds) { times_.Observe(rows, seconds); }

  bool shared(TimePoint now) const { return last_shared_ && now - *last_shared_ < kMemory; }

  // The accounts that take no part in the next step. `next`: the waiting request that comes first; may be null.
  // `step_tokens`: rows of a full step.
  std::set<std::string> SitOut(const Workload& load, const Request* next, int32_t step_tokens) const;

  // Rows of prompts for a step while several accounts use the engine, at most `step_tokens`: the fewest with which a
  // row takes little more time than with any number.
  int32_t PromptRows(int32_t step_tokens) const;

 private:
  StepTimes times_;
  std::string last_;  // the account that was seen last
  std::optional<TimePoint> last_seen_;
  std::optional<TimePoint> last_shared_;
};

}  // namespace inferflux::scheduler
