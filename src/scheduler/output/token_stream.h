// The bounded queue between the scheduler and one client. The scheduler never waits for it: a sequence with a full
// queue is left out of the following steps until its client has read something.
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
  // The number of unread events that may wait. The last event of a generation always fits.
  static constexpr size_t kCapacity = 256;

  // --- the client's side; any one thread at a time ---

  std::optional<StreamEvent> TryPop();

  // `notify` is called from the scheduler thread whenever an event has arrived. It must not block: it posts to the
  // client's own executor and never calls into the stream. It is called at once if events are waiting already. An empty
  // function ends the calls; when SetNotify returns, no call is in progress.
  void SetNotify(std::function<void()> notify);

  // The client has disconnected: the sequence is freed within one step, and its last event says kCancelled.
  void Cancel();

  // --- the scheduler's side ---

  bool full() const;
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void Push(StreamEvent event);

  // Called by Cancel, and by a TryPop that makes room, to wake a sleeping scheduler. Set once, before sharing.
  void SetWake(std::function<void()> wake) { wake_ = std::move(wake); }

 private:
  mutable std::mutex mutex_;  // events_
  std::deque<StreamEvent> events_;
  std::mutex notify_mutex_;  // held while notify_ is called; never lock it while holding mutex_
  std::function<void()> notify_;
  std::function<void()> wake_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace inferflux::scheduler
