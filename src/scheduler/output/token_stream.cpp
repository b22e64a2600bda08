#include "scheduler/output/token_stream.h"

#include <utility>

namespace inferflux::scheduler {

std::optional<StreamEvent> TokenStream::TryPop() {
  bool made_room = false;
  std::optional<StreamEvent> event;
  {
    std::lock_guard lock(mutex_);
    if (events_.empty()) return std::nullopt;
    made_room = events_.size() == kCapacity;
    event = std::move(events_.front());
    events_.pop_front();
  }
  if (made_room && wake_) wake_();
  return event;
}

void TokenStream::SetNotify(std::function<void()> notify) {
  std::lock_guard calling(notify_mutex_);
  notify_ = std::move(notify);
  const bool waiting = [this] {
    std::lock_guard lock(mutex_);
    return !events_.empty();
  }();
  if (waiting && notify_) notify_();
}

void TokenStream::Cancel() {
  cancelled_.store(true, std::memory_order_release);
  if (wake_) wake_();
}

bool TokenStream::full() const {
  std::lock_guard lock(mutex_);
  return events_.size() >= kCapacity;
}

void TokenStream::Push(StreamEvent event) {
  {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  std::lock_guard calling(notify_mutex_);
  if (notify_) notify_();
}

}  // namespace inferflux::scheduler
