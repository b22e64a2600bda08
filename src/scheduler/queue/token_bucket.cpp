#include "scheduler/queue/token_bucket.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace inferflux::scheduler {

void TokenBucket::Leak(Clock::time_point now) {
  const double seconds = std::max(0.0, std::chrono::duration<double>(now - last_).count());
  last_ = std::max(last_, now);
  held_ = rate_ > 0 ? std::max(0.0, held_ - seconds * rate_) : 0;
}

void TokenBucket::SetRate(int64_t tokens_per_minute, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Leak(now);
  rate_ = static_cast<double>(tokens_per_minute) / 60;
}

void TokenBucket::Charge(int64_t tokens, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Leak(now);
  if (rate_ > 0) held_ += static_cast<double>(tokens);
}

int32_t TokenBucket::SecondsUntilFree(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Leak(now);
  const double over = held_ - 60 * rate_;
  if (rate_ <= 0 || over < 0) return 0;
  const double seconds = std::floor(over / rate_) + 1;
  return static_cast<int32_t>(std::min<double>(seconds, std::numeric_limits<int32_t>::max()));
}

bool TokenBucket::empty(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Leak(now);
  return held_ == 0;
}

}  // namespace inferflux::scheduler
