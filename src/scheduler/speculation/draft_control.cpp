#include "scheduler/speculation/draft_control.h"

#include <algorithm>

namespace inferflux::scheduler {
namespace {

constexpr int32_t kProbeAfter = 32;
// Steps of one size do not show the cost of other sizes. So an occasional step is made large enough to measure it.
constexpr int32_t kMeasureAfter = 64;
constexpr int32_t kMeasuringDraft = 3;
constexpr double kMemory = 0.85;

}  // namespace

int32_t DraftControl::Length(const StepCost& cost, double draft, int32_t decoding, int32_t limit, bool expected) {
  if (limit <= 0) return 0;
  if (!cost.known()) return expected || ++pauses_ >= kMeasureAfter ? std::min(limit, kMeasuringDraft) : 0;
  // An additional row is worth it if the tokens that it may bring would take longer in separate steps.
  const double row = cost.per_row() * decoding + draft;
  const double step = cost.Seconds(decoding);
  int32_t length = 0;
  double right = rate_;
  while (length < limit && right * step > row) {
    ++length;
    right *= rate_;
  }
  if (length == 0 && ++pauses_ >= kProbeAfter) length = 1;
  return length;
}

void DraftControl::Observe(int32_t drafted, int32_t accepted) {
  pauses_ = 0;
  // Each accepted token is a success, and the first rejected one is a failure. Later ones are not counted.
  for (int32_t i = 0; i < accepted; ++i) rate_ = kMemory * rate_ + (1.0 - kMemory);
  if (accepted < drafted) rate_ *= kMemory;
}

}  // namespace inferflux::scheduler
