#include "server/live/live_feed.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "net/sse.h"
#include "server/live/live_figures.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::milliseconds kFeedPeriod{1000};
constexpr std::chrono::milliseconds kFeedLook{100};  // how soon the end of the client or of the server is noticed

}  // namespace

asio::awaitable<void> StreamLiveFigures(Services& services, const net::Request&, net::ResponseWriter& writer) {
  net::Response head(200, "text/event-stream; charset=utf-8");
  head.headers.push_back({"Cache-Control", "no-cache"});
  head.headers.push_back({"X-Accel-Buffering", "no"});
  if (!co_await writer.Begin(std::move(head))) co_return;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const auto ends = [&] { return writer.Gone() || services.draining; };
  while (!ends()) {
    std::string event;
    net::AppendSseData(event, boost::json::serialize(LiveFigures(services)));
    if (!co_await writer.Write(std::move(event))) co_return;
    for (auto waited = kFeedLook; waited <= kFeedPeriod && !ends(); waited += kFeedLook) {
      timer.expires_after(kFeedLook);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }
  co_await writer.End(std::string());
}

}  // namespace inferflux::server
