// What a step costs, learnt from the steps themselves: seconds = fixed + per_row * rows, a least-squares line through
// the recent past, in which a step counts half as much after some fifteen others.
#pragma once

#include <cstdint>

namespace inferflux::scheduler {

class StepCost {
 public:
  void Observe(int32_t rows, double seconds);

  // Whether steps of different sizes have been seen: without them there is no line.
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
