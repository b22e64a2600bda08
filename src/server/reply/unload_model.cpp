#include "server/reply/unload_model.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <memory>
#include <utility>

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::milliseconds kUnloadPoll{50};

}  // namespace

asio::awaitable<Status> UnloadModel(Services& services, std::string id, std::chrono::seconds grace) {
  auto promise = std::make_shared<std::promise<Status>>();
  auto done = promise->get_future();
  asio::post(services.administration,
             [&services, promise, id = std::move(id), grace] { promise->set_value(services.pool.Unload(id, grace)); });
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    timer.expires_after(kUnloadPoll);
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_return done.get();
}

}  // namespace inferflux::server
