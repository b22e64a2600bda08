// Wakes one sleeping thread from any other. A wake-up before the sleep is not lost. Shared, because a client may hold
// its stream longer than the scheduler lives.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace inferflux::scheduler {

class Wakeup {
 public:
  void Wake() {
    {
      std::lock_guard lock(mutex_);
      woken_ = true;
    }
    condition_.notify_one();
  }

  // Sleeps until woken or, if given, until that time.
  void Wait(std::optional<std::chrono::steady_clock::time_point> until) {
    std::unique_lock lock(mutex_);
    const auto woken = [this] { return woken_; };
    if (until) {
      condition_.wait_until(lock, *until, woken);
    } else {
      condition_.wait(lock, woken);
    }
    woken_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;
};

}  // namespace inferflux::scheduler
