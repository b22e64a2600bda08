// How many rows of prefill may join a step under StepGoal::kLatency, so that it lasts at most three times as long as
// its decodes alone. Learnt from the steps themselves: rows grow by degrees while there is time left and shrink at once
// where there is none (as congestion control does, D. Chiu and R. Jain, 1989), so no estimate of what a row costs is
// needed, and one slow step does no harm.
#pragma once

#include <cstdint>

namespace inferflux::scheduler {

class LatencyBudget {
 public:
  static constexpr int32_t kLeast = 4;  // or a long prompt would never end

  // A step that decoded `decoding` sequences and computed `prefill` rows of prompts took `seconds`.
  void Observe(int32_t decoding, int32_t prefill, double seconds);

  int32_t rows() const { return static_cast<int32_t>(rows_); }

 private:
  double quiet_ = 0.0;  // seconds of a step that decodes only; 0: none was seen
  double rows_ = kLeast;
};

}  // namespace inferflux::scheduler
