// Slows down who guesses keys: the answer to a wrong one waits longer with each failure of the same address. Right keys
// never wait, so an address that many people share stays usable.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace inferflux::server {

class LoginGuard {
 public:
  using Clock = std::chrono::steady_clock;

  // Notes a failure; returns how long its answer has to wait: nothing for the first few of a minute, then twice as long
  // each time, up to two seconds. Any thread.
  std::chrono::milliseconds Failed(const std::string& peer, Clock::time_point now = Clock::now());

 private:
  struct Failures {
    int count = 0;
    Clock::time_point last;
  };
  void Forget(Clock::time_point now);

  std::mutex mutex_;
  std::map<std::string, Failures> peers_;
};

}  // namespace inferflux::server
