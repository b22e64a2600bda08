// How many rows of prefill may join a step under StepGoal::kLatency, so that it takes at most three times as long as
// its decodes alone. Learnt from the steps: the number of rows grows gradually while there is time left, and shrinks at
// once when there is none (as in congestion control, D. Chiu and R. Jain, 1989). So it needs no estimate of the cost of
// a row, and one slow step does no harm.
#pragma once

#include <cstdint>

namespace inferflux::scheduler {

class LatencyBudget {
 public:
  static constexpr int32_t kLeast = 4;  // otherwise a long prompt would never finish

  // Reports that a step with `decoding` decoding sequences and `prefill` rows of prompts took `seconds`.
  void Observe(int32_t decoding, int32_t prefill, double seconds);

  int32_t rows() const { return static_cast<int32_t>(rows_); }

 private:
  double quiet_ = 0.0;  // seconds of a step that decodes only; 0: unknown
  double rows_ = kLeast;
};

}  // namespace inferflux::scheduler
