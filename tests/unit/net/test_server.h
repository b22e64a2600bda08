// A server with a few routes for tests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "net/server.h"

namespace inferflux::testing {

namespace asio = boost::asio;

// Streams wait until the test releases them, one piece for each notification.
struct Faucet {
  std::mutex mutex;
  std::weak_ptr<net::Notifier> notifier;  // a notifier must not outlive its server
  std::atomic<int> allowed{0};
  std::atomic<int> started{0};
  std::atomic<int> abandoned{0};

  void Let(int pieces) {
    allowed += pieces;
    std::lock_guard lock(mutex);
    if (const auto ringing = notifier.lock()) ringing->Notify();
  }
};

inline net::Router TestRouter(Faucet& faucet) {
  net::Router router;
  router.Add("GET", "/hello", [](const net::Request&, net::ResponseWriter& writer) -> asio::awaitable<void> {
    co_await writer.Send({200, "text/plain", "hello"});
  });
  router.Add("POST", "/echo", [](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    co_await writer.Send({200, "text/plain", request.body});
  });
  router.Add("GET", "/things/{id...}",
             [](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
               co_await writer.Send({200, "text/plain", request.parameters.at("id")});
             });
  router.Add("GET", "/throw", [](const net::Request&, net::ResponseWriter&) -> asio::awaitable<void> {
    throw std::runtime_error("a bug");
    co_return;
  });
  router.Add("GET", "/stream", [&faucet](const net::Request&, net::ResponseWriter& writer) -> asio::awaitable<void> {
    {
      std::lock_guard lock(faucet.mutex);
      faucet.notifier = writer.notifier();
    }
    ++faucet.started;
    co_await writer.Begin({200, "text/event-stream"});
    for (int sent = 0; sent < 3;) {
      if (writer.Gone()) {
        ++faucet.abandoned;
        co_return;
      }
      if (sent < faucet.allowed) {
        co_await writer.Write("piece " + std::to_string(sent++) + "\n");
      } else {
        co_await writer.notifier()->Wait();
      }
    }
    co_await writer.End(std::string());
  });
  router.Add("GET", "/at-once", [](const net::Request&, net::ResponseWriter& writer) -> asio::awaitable<void> {
    co_await writer.Begin({200, "text/plain", "with the head, "});
    co_await writer.Write("later");
    co_await writer.End(std::string());
  });
  router.Add("GET", "/flood", [](const net::Request&, net::ResponseWriter& writer) -> asio::awaitable<void> {
    co_await writer.Begin({200, "text/plain"});
    while (co_await writer.Write(std::string(1 << 16, 'x'))) {
    }
  });
  return router;
}

inline std::unique_ptr<net::Server> StartTestServer(Faucet& faucet, net::ServerOptions options = {}) {
  auto server = net::Server::Start(std::move(options), TestRouter(faucet));
  EXPECT_TRUE(server.has_value()) << (server ? "" : server.error().message);
  return std::move(*server);
}

// Waits until `condition` holds; false after ten seconds.
template <class Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace inferflux::testing
