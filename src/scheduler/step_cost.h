// The cost of a step, learnt from the steps: seconds = fixed + per_row * rows, a least-squares line through the recent
// past, in which the weight of a step halves after about fifteen others.
#pragma once

#include <cstdint>

namespace inferflux::scheduler {

class StepCost {
 public:
  void Observe(int32_t rows, double seconds);

  // Whether steps of different sizes have been seen. Without them, no line can be fitted.
  bool known() const;

  double per_row() const;  // seconds; never negative
  double Seconds(int32_t rows) const;

 private:
  double weight_ = 0.0;
  double rows_ = 0.0;  // decayed sums over the steps seen
  double seconds_ = 0.0;
  double rows_rows_ = 0.0;
  double rows_seconds_ = 0.0;
};

}  // namespace inferflux::scheduler
