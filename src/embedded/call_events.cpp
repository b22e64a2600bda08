#include "embedded/call_events.h"

#include <condition_variable>
#include <mutex>

namespace inferflux::embedded {

// Says that events have arrived. The scheduler's thread sets it, the caller waits for it.
class CallEvents::Arrival {
 public:
  void Set() {
    const std::lock_guard lock(mutex_);
    arrived_ = true;
    changed_.notify_one();
  }

  void Wait(const CallLimits& limits) {
    std::unique_lock lock(mutex_);
    const auto arrived = [this] { return arrived_; };
    if (limits.deadline) {
      changed_.wait_until(lock, limits.cancel, *limits.deadline, arrived);
    } else {
      changed_.wait(lock, limits.cancel, arrived);
    }
    arrived_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool arrived_ = false;
};

namespace {

bool Late(const CallLimits& limits) { return limits.deadline && std::chrono::steady_clock::now() >= *limits.deadline; }

Status CheckLimits(const CallLimits& limits) {
  if (limits.cancel.stop_requested()) {
    return Refuse({.code = ErrorCode::kCancelled, .message = "the caller cancelled the call"});
  }
  if (Late(limits)) {
    return Refuse({.code = ErrorCode::kTimeout, .message = "the call's time was over before its answer was complete"});
  }
  return {};
}

}  // namespace

CallLimits LimitsOf(const GenerateOptions& options) {
  CallLimits out{.cancel = options.cancel, .deadline = std::nullopt};
  if (options.timeout) out.deadline = std::chrono::steady_clock::now() + *options.timeout;
  return out;
}

Result<CallEvents> CallEvents::Submit(const serving::ServedModel& model,
                                      std::vector<scheduler::GenerationRequest> requests, CallLimits limits) {
  if (auto within = CheckLimits(limits); !within) return Forward(within);
  for (scheduler::GenerationRequest& request : requests) request.deadline = limits.deadline;
  auto arrival = std::make_shared<Arrival>();
  auto group = serving::GenerationGroup::Submit(*model.scheduler, std::move(requests), [arrival] { arrival->Set(); });
  if (!group) return Refuse(OfSubmit(group.error()));
  return CallEvents(std::move(*group), std::move(arrival), std::move(limits));
}

Status CallEvents::Next(serving::GenerationGroup::OnEvent on_event) {
  Status failed;
  const auto take = [&](size_t index, scheduler::StreamEvent event) {
    if (event.finish && failed) failed = CheckFinish(*event.finish, Late(limits_));
    on_event(index, std::move(event));
  };
  while (!group_.finished()) {
    // A caller who cancelled gets nothing more. What arrived in time counts, also where the time is over now.
    if (limits_.cancel.stop_requested()) return CheckLimits(limits_);
    if (group_.Drain(take)) return failed;
    arrival_->Wait(limits_);
    if (!limits_.cancel.stop_requested() && group_.Drain(take)) return failed;
    if (auto within = CheckLimits(limits_); !within) return within;
  }
  return failed;
}

}  // namespace inferflux::embedded
