// How many draft tokens pay for one sequence, from how many of them were accepted. A draft costs rows of a step
// and saves steps; where it does not pay it is not made, but for a probe now and then.
#pragma once

#include <cstdint>

#include "scheduler/step_cost.h"

namespace inferflux::scheduler {

class DraftControl {
 public:
  // Tokens to draft, at most `limit`, in a step of `decoding` sequences; making one for each of them takes `draft`
  // seconds.
  int32_t Length(const StepCost& cost, double draft, int32_t decoding, int32_t limit);

  // So many tokens were drafted, and the first `accepted` of them were what the model said.
  void Observe(int32_t drafted, int32_t accepted);

 private:
  double rate_ = 0.6;   // of drafted tokens that are right, if those before them were
  int32_t pauses_ = 0;  // steps without a draft since the last one
};

}  // namespace inferflux::scheduler
