#include "net/notifier.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace inferflux::net {
namespace asio = boost::asio;

Notifier::Notifier(asio::any_io_executor strand) : timer_(std::move(strand)) {
  timer_.expires_at(asio::steady_timer::time_point::max());
}

void Notifier::Notify() {
  if (rung_.exchange(true, std::memory_order_acq_rel)) return;  // a wake-up is already on its way
  asio::post(timer_.get_executor(), [self = shared_from_this()] { self->timer_.cancel(); });
}

asio::awaitable<void> Notifier::Wait() {
  // A cancellation may also come from a notification that an earlier wait has already consumed; hence the loop.
  while (!rung_.exchange(false, std::memory_order_acq_rel)) {
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace inferflux::net
