// A limit on the work that a thread does for one request: processor time, a deadline, and whether the client is still
// there. The function that starts the work creates a WorkBudget as a local variable. The loops in all functions that it
// calls check WorkBudget::Spent(), and stop when it is true. Their results are then incomplete: the owner of the budget
// checks status() and discards them. A thread without a budget has no limit, so that code which loads a model or runs a
// test needs none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/result.h"

namespace inferflux {

struct WorkLimits {
  std::chrono::milliseconds cpu{0};  // of the thread's own time; 0: no limit
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  std::stop_token stop = {};  // requested when the result is no longer needed
};

class WorkBudget {
 public:
  enum class End : uint8_t { kNone, kCpu, kDeadline, kStopped };

  // For the current thread, until it is destroyed. An inner budget replaces the outer one for its lifetime.
  explicit WorkBudget(const WorkLimits& limits);
  ~WorkBudget() { current_ = outer_; }
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  // True once the work must end; it stays true. `units` is what was done since the last call: a unit is some tens of
  // nanoseconds, one round of a small loop. Clocks are read every kUnitsPerLook units.
  static bool Spent(uint32_t units = 1) { return current_ != nullptr && current_->Count(units); }
  // For functions that return results: kResourceExhausted or kCancelled.
  static Status Check(uint32_t units = 1) { return Spent(units) ? current_->status() : Status(); }

  // Why the work had to end. Looks at the clocks once more.
  End end();
  // The same in words that name the limit.
  Status status();

 private:
  static constexpr uint32_t kUnitsPerLook = 4096;

  bool Count(uint32_t units) {
    if (end_ != End::kNone) return true;
    units_ += units;
    if (units_ < kUnitsPerLook) return false;
    units_ = 0;
    return Look();
  }
  bool Look();

  static constinit thread_local WorkBudget* current_;

  const WorkLimits limits_;
  WorkBudget* const outer_;
  const std::chrono::nanoseconds began_;  // on the thread's clock
  uint32_t units_ = 0;
  End end_ = End::kNone;
};

// The processor time that the current thread has used.
std::chrono::nanoseconds ThreadCpuTime();

}  // namespace inferflux
