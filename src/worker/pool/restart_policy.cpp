#include "worker/pool/restart_policy.h"

#include <algorithm>

#include "base/mix64.h"

namespace inferflux::worker {

// From 0.9 to 1.1.
double RestartPolicy::Jitter() {
  random_ = Mix64(random_ + 1);
  return 0.9 + 0.2 * static_cast<double>(random_ >> 11) / static_cast<double>(1ULL << 53);
}

void RestartPolicy::Ready(Time) { open_ = false; }

void RestartPolicy::Ended(Time now, Duration served) {
  ++restarts_;
  if (served >= kServedLongEnough) {
    failures_.clear();
    consecutive_ = 0;
    open_ = false;
    next_start_ = now;
    return;
  }
  failures_.push_back(now);
  while (now - failures_.front() >= kWindow) failures_.pop_front();
  if (open_ || failures_.size() >= kMostFailures) {
    open_ = true;
    next_start_ = now + kOpenTime;
    return;
  }
  const double seconds = std::min<double>(kLongestWait.count(), 1 << std::min(consecutive_++, 6));
  next_start_ = now + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds * Jitter()));
}

void RestartPolicy::Reset() {
  failures_.clear();
  consecutive_ = 0;
  open_ = false;
  next_start_ = Time{};
}

}  // namespace inferflux::worker
