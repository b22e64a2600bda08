// When a worker that has ended may be started again. Times are passed in; the policy has no clock.
//
// A worker that had served for 5 s starts at once. One that ended earlier waits 1, 2, 4, ... 60 s, with a tenth of
// jitter. The fifth such end within a minute opens the circuit: nothing is started for 60 s; then one start is tried,
// and either closes the circuit or opens it again.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

namespace inferflux::worker {

class RestartPolicy {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  static constexpr std::chrono::seconds kServedLongEnough{5};
  static constexpr std::chrono::seconds kLongestWait{60};
  static constexpr std::chrono::seconds kWindow{60};
  static constexpr std::chrono::seconds kOpenTime{60};
  static constexpr size_t kMostFailures = 5;

  // `seed` makes the jitter of several workers differ.
  explicit RestartPolicy(uint64_t seed) : random_(seed) {}

  // It serves.
  void Ready(Time now);
  // It ended, `served` after it became ready; zero: it never was.
  void Ended(Time now, Duration served);
  // An operator starts it again: what was before no longer counts.
  void Reset();

  Time next_start() const { return next_start_; }
  bool open() const { return open_; }
  int64_t restarts() const { return restarts_; }

 private:
  double Jitter();

  uint64_t random_;
  Time next_start_{};
  std::deque<Time> failures_;  // ends within the window
  int consecutive_ = 0;
  bool open_ = false;
  int64_t restarts_ = 0;
};

}  // namespace inferflux::worker
