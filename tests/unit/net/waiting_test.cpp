// How long each side waits for the other, and what is said of who holds a port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
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
  const auto server = StartTestServer(faucet, {.header_timeout = 150ms, .idle_timeout = 150ms, .body_timeout = 150ms});
  RawClient client(server->port());
  client.Send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return faucet.started == 1; }));
  std::this_thread::sleep_for(500ms);
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

// A server whose answer comes in four pieces, each so long after the last one.
std::unique_ptr<net::Server> StartDrippingServer(std::chrono::milliseconds apart) {
  net::Router router;
  router.Add("GET", "/drips", [apart](const net::Request&, net::ResponseWriter& writer) -> asio::awaitable<void> {
    co_await writer.Begin({200, "text/plain"});
    for (int i = 0; i < 4; ++i) {
      std::this_thread::sleep_for(apart);
      co_await writer.Write(std::to_string(i));
    }
    co_await writer.End(std::string());
  });
  auto server = net::Server::Start({.io_threads = 2}, std::move(router));
  EXPECT_TRUE(server);
  return std::move(*server);
}

TEST(WaitingTest, SilenceBeginsWithTheLastPiece) {
  const auto server = StartDrippingServer(500ms);
  const net::ServerAddress to{"127.0.0.1", server->port(), ""};
  std::string async;
  std::thread other([&] {
    asio::io_context io(1);
    const auto client = std::make_shared<net::AsyncClient>(io, to, net::AsyncClientOptions{.silence_timeout = 1500ms});
    net::ClientRequest request;
    request.target = "/drips";
    auto answer = asio::co_spawn(io, client->Send(request), asio::use_future);
    io.run();
    const auto got = answer.get();
    async = got ? got->body : got.error().message;
  });
  net::Client client(to);
  client.silence_timeout = 1500ms;
  const auto got = client.Send({.target = "/drips"});
  other.join();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body, "0123");
  EXPECT_EQ(async, "0123");
}

TEST(PortOwnerTest, IsWhoListensThere) {
  Faucet faucet;
  const auto server = StartTestServer(faucet);
  const RawClient client(server->port());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(net::DescribePortOwner(server->port()), "net_test (process " + std::to_string(::getpid()) + ")");
  EXPECT_EQ(net::DescribePortOwner(client.own_port()), "another process") << "a connection does not listen";
  EXPECT_EQ(net::DescribePortOwner(0), "another process");
}

}  // namespace
}  // namespace inferflux::testing
