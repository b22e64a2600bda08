// Wakes a coroutine from any thread: any thread notifies, one coroutine waits. No notification is lost; several before
// a wait count as one.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

namespace inferflux::net {

class Notifier : public std::enable_shared_from_this<Notifier> {
 public:
  // `strand` is the serial executor of the waiting coroutine. Its execution context must outlive the notifier: every
  // owner of a notifier must release it before the server is destroyed.
  explicit Notifier(boost::asio::any_io_executor strand);

  // Any thread; never blocks.
  void Notify();
  // Returns at once if there was a notification since the last wait.
  boost::asio::awaitable<void> Wait();

 private:
  std::atomic<bool> rung_{false};
  boost::asio::steady_timer timer_;  // never expires: cancelling it wakes the waiter
};

}  // namespace inferflux::net
