// How long steps of each size took lately. Sizes are powers of two: class k has steps of 2^k to 2^(k+1) - 1 rows.
// Unlike a line through all steps (step_cost.h), it says nothing about sizes that were not seen, rather than something
// wrong.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace inferflux::scheduler {

class StepTimes {
 public:
  static constexpr int64_t kForget = 512;  // steps after which a size counts as not seen

  void Observe(int32_t rows, double seconds);

  // Seconds of a step of that size; none if none was seen lately.
  std::optional<double> Seconds(int32_t rows) const;
  // The least time that a row took, over all sizes; none if no step was seen.
  std::optional<double> BestRow() const;

 private:
  struct Class {
    double seconds = 0.0;
    double rows = 0.0;
    int64_t seen = -1;  // the step's number
  };
  bool Fresh(const Class& one) const { return one.seen >= 0 && steps_ - one.seen <= kForget; }

  std::array<Class, 24> classes_;
  int64_t steps_ = 0;
};

}  // namespace inferflux::scheduler
