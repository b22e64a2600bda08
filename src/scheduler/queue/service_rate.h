// How fast requests finish, to tell a rejected client when to retry.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace inferflux::scheduler {

class ServiceRate {
 public:
  void Finished(std::chrono::steady_clock::time_point now) { times_[count_++ % kKept] = now; }

  // Seconds until about `waiting` requests will have finished, an integer from 1 to 60.
  int32_t SecondsFor(int32_t waiting, std::chrono::steady_clock::time_point now) const;

 private:
  static constexpr size_t kKept = 64;

  std::array<std::chrono::steady_clock::time_point, kKept> times_{};  // a ring buffer
  size_t count_ = 0;
};

}  // namespace inferflux::scheduler
