#include "scheduler/step_times.h"

#include <algorithm>
#include <bit>

namespace inferflux::scheduler {
namespace {

constexpr double kNewest = 0.2;

size_t ClassOf(int32_t rows, size_t classes) {
  return std::min(static_cast<size_t>(std::bit_width(static_cast<uint32_t>(std::max(rows, 1))) - 1), classes - 1);
}

}  // namespace

void StepTimes::Observe(int32_t rows, double seconds) {
  ++steps_;
  Class& one = classes_[ClassOf(rows, classes_.size())];
  const double weight = Fresh(one) ? kNewest : 1.0;
  // A delayed step does not predict the next.
  const double counted = Fresh(one) ? std::min(seconds, 2.0 * one.seconds) : seconds;
  one.seconds += weight * (counted - one.seconds);
  one.rows += weight * (rows - one.rows);
  one.seen = steps_;
}

std::optional<double> StepTimes::Seconds(int32_t rows) const {
  const Class& one = classes_[ClassOf(rows, classes_.size())];
  return Fresh(one) ? std::optional(one.seconds) : std::nullopt;
}

std::optional<double> StepTimes::BestRow() const {
  std::optional<double> best;
  for (const Class& one : classes_) {
    if (Fresh(one)) best = std::min(best.value_or(one.seconds / one.rows), one.seconds / one.rows);
  }
  return best;
}

}  // namespace inferflux::scheduler
