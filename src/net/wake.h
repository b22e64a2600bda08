// A bell between threads: any thread rings it, one coroutine waits for it. A ring is never lost, and rings that nobody
// has waited for yet count as one.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

namespace inferflux::net {

class Wake : public std::enable_shared_from_this<Wake> {
 public:
  // `strand` is the serial executor on which the waiting coroutine runs. Its execution context must outlive the bell:
  // whoever keeps a bell gives it up before the server goes.
  explicit Wake(boost::asio::any_io_executor strand);

  // Any thread; never blocks.
  void Ring();
  // Returns at once where the bell rang since the last wait.
  boost::asio::awaitable<void> Wait();

 private:
  std::atomic<bool> rung_{false};
  boost::asio::steady_timer timer_;  // never expires: to cancel it is to wake the waiter
};

}  // namespace inferflux::net
