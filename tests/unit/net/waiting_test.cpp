// How long each side waits for the other, and what is said of who holds a port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "net/client.h"
#include "net/client/async_client.h"
#include "net/listening/port_owner.h"
#include "net/raw_client.h"
#include "net/test_server.h"

namespace inferflux::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(WaitingTest, AHandlerMayTakeLongerThanARequestMay) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.header_timeout = 2s, .idle_timeout = 2s, .body_timeout = 2s});
  RawClient client(server->port());
  client.Send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return faucet.started == 1; }));
  std::this_thread::sleep_for(2500ms);
  EXPECT_EQ(faucet.abandoned, 0);
  faucet.Let(3);
  EXPECT_THAT(client.ReadUntil("0\r\n\r\n"), HasSubstr("piece 2"));
}

TEST(WaitingTest, TheRestOfARefusedBodyIsReadAwaySoThatTheAnswerArrives) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.max_body_bytes = 100});
  RawClient client(server->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + std::string(60'000, 'a'));
  EXPECT_THAT(client.ReadToEnd(), StartsWith("HTTP/1.1 413 "));
  EXPECT_TRUE(client.closed());
  EXPECT_FALSE(client.reset());
}

// A server whose answer comes in so many pieces, each so long after the last one.
std::unique_ptr<net::Server> StartDrippingServer(int pieces, std::chrono::milliseconds apart) {
  net::Router router;
  router.Add("GET", "/drips",
             [pieces, apart](const net::Request&, net::ResponseWriter& writer) -> asio::awaitable<void> {
               co_await writer.Begin({200, "text/plain"});
               asio::steady_timer timer(co_await asio::this_coro::executor);
               for (int i = 0; i < pieces; ++i) {
                 timer.expires_after(apart);
                 co_await timer.async_wait(asio::use_awaitable);
                 co_await writer.Write("x");
               }
               co_await writer.End(std::string());
             });
  auto server = net::Server::Start({.io_threads = 2}, std::move(router));
  EXPECT_TRUE(server);
  return std::move(*server);
}

TEST(WaitingTest, SilenceBeginsWithTheLastPiece) {
  const auto server = StartDrippingServer(14, 250ms);  // in all longer than the silence that each client allows
  const net::ServerAddress to{"127.0.0.1", server->port(), ""};
  std::string async;
  std::thread other([&] {
    asio::io_context io(1);
    const auto client = std::make_shared<net::AsyncClient>(io, to, net::AsyncClientOptions{.silence_timeout = 3s});
    net::ClientRequest request;
    request.target = "/drips";
    auto answer = asio::co_spawn(io, client->Send(request), asio::use_future);
    io.run();
    const auto got = answer.get();
    async = got ? got->body : got.error().message;
  });
  net::Client client(to);
  client.silence_timeout = 3s;
  const auto got = client.Send({.target = "/drips"});
  other.join();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body, std::string(14, 'x'));
  EXPECT_EQ(async, std::string(14, 'x'));
}

TEST(PortOwnerTest, IsWhoListensThere) {
  Faucet faucet;
  const auto server = StartTestServer(faucet);
  const RawClient client(server->port());
  ASSERT_TRUE(client.connected());
  std::string name;
  std::getline(std::ifstream("/proc/self/comm"), name);
  EXPECT_EQ(net::DescribePortOwner(server->port()), name + " (process " + std::to_string(::getpid()) + ")");
  EXPECT_EQ(net::DescribePortOwner(client.own_port()), "another process") << "a connection does not listen";
  EXPECT_EQ(net::DescribePortOwner(0), "another process");
}

}  // namespace
}  // namespace inferflux::testing
