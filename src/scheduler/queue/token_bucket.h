// How many tokens an account was served in the last minute, for a limit of tokens a minute: a leaky bucket. What was
// served leaks out evenly; while a minute's worth or more is in it, no new request begins. Requests that run go on, so
// a long one may overdraw, and the account waits the longer.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace inferflux::scheduler {

// Any thread.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  // 0: no limit. Takes effect at once.
  void SetRate(int64_t tokens_per_minute, Clock::time_point now);
  void Charge(int64_t tokens, Clock::time_point now);
  // Seconds until the account may begin another request: 0, or the time in which enough leaks out, rounded up.
  int32_t SecondsUntilFree(Clock::time_point now);
  bool empty(Clock::time_point now);

 private:
  void Leak(Clock::time_point now);

  std::mutex mutex_;
  double rate_ = 0;  // tokens a second
  double held_ = 0;
  Clock::time_point last_{};
};

}  // namespace inferflux::scheduler
