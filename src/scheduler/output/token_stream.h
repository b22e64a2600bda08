// The bounded queue between the step loop and one client. The step loop never waits for it: a sequence whose queue is
// full is left out of the following steps until its client has taken something.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "scheduler/generation.h"

namespace inferflux::scheduler {

class TokenStream {
 public:
  // Events that may wait unread. The last event of a generation always fits.
  static constexpr size_t kCapacity = 256;

  // --- the client's side; any one thread at a time ---

  std::optional<StreamEvent> TryPop();

  // `notify` is called from the step loop's thread whenever an event has arrived, and must not block: it posts to the
  // client's own executor, and never calls into the stream itself. It is called at once where events wait already. An
  // empty function ends the calls, and when this returns none is under way.
  void SetNotify(std::function<void()> notify);

  // The client has gone: the sequence is freed within one step, and its last event says kCancelled.
  void Cancel();

  // --- the step loop's side ---

  bool full() const;
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void Push(StreamEvent event);

  // Called by Cancel and by a TryPop that makes room, so that a sleeping step loop wakes. Set once, before sharing.
  void SetWake(std::function<void()> wake) { wake_ = std::move(wake); }

 private:
  mutable std::mutex mutex_;  // events_
  std::deque<StreamEvent> events_;
  std::mutex notify_mutex_;  // held while notify_ is called; never together with mutex_ the other way round
  std::function<void()> notify_;
  std::function<void()> wake_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace inferflux::scheduler
