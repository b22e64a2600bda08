#include "base/work_budget/work_budget.h"

#include <ctime>

namespace inferflux {

constinit thread_local WorkBudget* WorkBudget::current_ = nullptr;

std::chrono::nanoseconds ThreadCpuTime() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

WorkBudget::WorkBudget(const WorkLimits& limits) : limits_(limits), outer_(current_), began_(ThreadCpuTime()) {
  current_ = this;
}

bool WorkBudget::Look() {
  if (end_ != End::kNone) return true;
  if (limits_.stop.stop_requested()) {
    end_ = End::kStopped;
  } else if (limits_.cpu.count() > 0 && ThreadCpuTime() - began_ > limits_.cpu) {
    end_ = End::kCpu;
  } else if (limits_.deadline && std::chrono::steady_clock::now() >= *limits_.deadline) {
    end_ = End::kDeadline;
  }
  return end_ != End::kNone;
}

WorkBudget::End WorkBudget::end() {
  Look();
  return end_;
}

Status WorkBudget::status() {
  switch (end()) {
    case End::kNone:
      return {};
    case End::kCpu:
      return Fail(ErrorCode::kResourceExhausted, "the work takes more than {} ms of processor time",
                  limits_.cpu.count());
    case End::kDeadline:
      return Fail(ErrorCode::kUnavailable, "the work was not done by its deadline");
    case End::kStopped:
      break;
  }
  return Fail(ErrorCode::kCancelled, "the client left before the work was done");
}

}  // namespace inferflux
