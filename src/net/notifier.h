// A notifier between threads: any thread rings it, one coroutine waits for it. A ring is never lost, and rings that
// nobody has waited for yet count as one.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

namespace inferflux::net {

class Notifier : public std::enable_shared_from_this<Notifier> {
 public:
  // `strand` is the serial executor on which the waiting coroutine runs. Its execution context must outlive the
  // notifier: whoever keeps a notifier gives it up before the server goes.
  explicit Notifier(boost::asio::any_io_executor strand);

  // Any thread; never blocks.
  void Notify();
  // Returns at once where the notifier rang since the last wait.
  boost::asio::awaitable<void> Wait();

 private:
  std::atomic<bool> rung_{false};
  boost::asio::steady_timer timer_;  // never expires: to cancel it is to wake the waiter
};

}  // namespace inferflux::net
