// How many draft tokens are worthwhile for one sequence, given how many were accepted. A draft costs rows of a step and
// saves steps. If the cost exceeds the saving, the sequence gets no draft tokens except for an occasional probe.
#pragma once

#include <cstdint>

#include "scheduler/step_cost.h"

namespace inferflux::scheduler {

class DraftControl {
 public:
  // The number of tokens to draft, at most `limit`, in a step of `decoding` sequences. Drafting one token for each of
  // them takes `draft` seconds. `expected`: a client's prediction goes on with them, so that an unknown cost is
  // measured at once.
  int32_t Length(const StepCost& cost, double draft, int32_t decoding, int32_t limit, bool expected = false);

  // Reports that `drafted` tokens were drafted and the first `accepted` of them were accepted.
  void Observe(int32_t drafted, int32_t accepted);

 private:
  double rate_ = 0.6;   // probability that a draft token is accepted if those before it were
  int32_t pauses_ = 0;  // steps without a draft since the last one
};

}  // namespace inferflux::scheduler
