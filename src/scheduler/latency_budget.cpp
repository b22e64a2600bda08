#include "scheduler/latency_budget.h"

#include <algorithm>

namespace inferflux::scheduler {
namespace {

constexpr double kTarget = 2.0;  // quiet steps; the rest of the three is reserved for variation between steps
constexpr double kGrowth = 1.1;
constexpr double kMost = 1 << 20;
constexpr double kNewest = 0.1;  // weight of the newest quiet step

}  // namespace

void LatencyBudget::Observe(int32_t decoding, int32_t prefill, double seconds) {
  if (decoding == 0) return;
  if (prefill == 0) {
    // A delayed step does not predict the next.
    quiet_ = quiet_ == 0.0 ? seconds : quiet_ + kNewest * (std::min(seconds, 2.0 * quiet_) - quiet_);
    return;
  }
  if (quiet_ == 0.0 || seconds <= 0.0) return;
  const double room = kTarget * quiet_ / seconds;
  if (room < 1.0) {
    rows_ = std::max<double>(kLeast, std::min(rows_, prefill * std::max(room, 0.5)));
  } else if (prefill >= 0.75 * rows_) {  // with fewer rows, the cost of more is unknown
    rows_ = std::min(rows_ * std::min(room, kGrowth), kMost);
  }
}

}  // namespace inferflux::scheduler
