#include "scheduler/queue/service_rate.h"

#include <algorithm>
#include <cmath>

namespace inferflux::scheduler {

int32_t ServiceRate::SecondsFor(int32_t waiting, std::chrono::steady_clock::time_point now) const {
  if (count_ == 0) return 1;
  const size_t kept = std::min(count_, kKept);
  const auto oldest = times_[(count_ - kept) % kKept];
  const double seconds = std::chrono::duration<double>(now - oldest).count();
  return static_cast<int32_t>(std::clamp(std::ceil(waiting * seconds / static_cast<double>(kept)), 1.0, 60.0));
}

}  // namespace inferflux::scheduler
