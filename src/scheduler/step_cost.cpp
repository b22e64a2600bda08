#include "scheduler/step_cost.h"

#include <algorithm>

namespace inferflux::scheduler {
namespace {

constexpr double kDecay = 0.955;

}  // namespace

void StepCost::Observe(int32_t rows, double seconds) {
  const double x = rows;
  weight_ = kDecay * weight_ + 1.0;
  rows_ = kDecay * rows_ + x;
  seconds_ = kDecay * seconds_ + seconds;
  rows_rows_ = kDecay * rows_rows_ + x * x;
  rows_seconds_ = kDecay * rows_seconds_ + x * seconds;
}

bool StepCost::known() const {
  // A spread of half a row around the mean. With less, a line cannot be fitted.
  return weight_ > 1.5 && weight_ * rows_rows_ - rows_ * rows_ > 0.25 * weight_ * weight_;
}

double StepCost::per_row() const {
  if (!known()) return 0.0;
  return std::max(0.0, (weight_ * rows_seconds_ - rows_ * seconds_) / (weight_ * rows_rows_ - rows_ * rows_));
}

double StepCost::Seconds(int32_t rows) const {
  if (weight_ == 0.0) return 0.0;
  return std::max(0.0, (seconds_ + per_row() * (rows * weight_ - rows_)) / weight_);
}

}  // namespace inferflux::scheduler
