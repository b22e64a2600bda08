// The server's defences against hostile and broken clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "net/listening/body_allowance.h"
#include "net/listening/peer_connections.h"
#include "net/raw_client.h"
#include "net/test_server.h"

namespace inferflux::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Exchange(net::Server& server, std::string_view bytes) {
  RawClient client(server.port());
  client.Send(bytes);
  return client.ReadToEnd();
}

TEST(LimitsTest, ABodyAboveTheLimitIs413BeforeItIsRead) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.max_body_bytes = 100});
  const std::string answer = Exchange(*server, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer, HasSubstr("100 bytes"));
}

TEST(LimitsTest, AChunkedBodyCannotPassTheLimit) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.max_body_bytes = 100});
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(
      Exchange(*server, head + "60\r\n" + std::string(96, 'a') + "\r\n60\r\n" + std::string(96, 'a') + "\r\n0\r\n\r\n"),
      StartsWith("HTTP/1.1 413 "));
}

TEST(LimitsTest, AllBodiesTogetherHaveALimitToo) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.max_buffered_bytes = 1000});
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n";
  EXPECT_THAT(Exchange(*server, head + std::string(2000, 'a')), StartsWith("HTTP/1.1 503 "));
  RawClient client(server->port());  // the budget that it used has been released
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n" + std::string(899, 'a') + "z");
  EXPECT_THAT(client.ReadUntil("z"), StartsWith("HTTP/1.1 200 "));
}

// Takes as many bytes as it was given.
class FixedAllowance final : public net::BodyAllowance {
 public:
  FixedAllowance(size_t bytes, std::atomic<int>& alive) : left_(bytes), alive_(alive) { ++alive_; }
  ~FixedAllowance() override { --alive_; }
  std::optional<net::Response> Take(size_t bytes) override {
    if (bytes > left_) return net::Response(429, "text/plain", "no room for " + std::to_string(bytes));
    left_ -= bytes;
    return std::nullopt;
  }

 private:
  size_t left_;
  std::atomic<int>& alive_;
};

TEST(LimitsTest, AClientsAllowanceRefusesABodyBeforeItIsReadAndLivesAsLongAsTheRequest) {
  std::atomic<int> alive{0};
  std::atomic<int> alive_in_handler{0};
  net::Router router;
  router.Add(
      "POST", "/echo",
      [&](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
        alive_in_handler = alive.load();
        co_await writer.Send({200, "text/plain", request.body});
      },
      [&](net::Request& head) -> std::optional<net::Response> {
        head.allowance = std::make_shared<FixedAllowance>(100, alive);
        return std::nullopt;
      });
  const auto server = *net::Server::Start({}, std::move(router));
  const std::string refused = Exchange(*server, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 429 "));
  EXPECT_THAT(refused, HasSubstr("no room for 101"));
  EXPECT_THAT(refused, HasSubstr("\r\nConnection: close\r\n")) << "the body would be taken for a request";
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  EXPECT_THAT(Exchange(*server, head + "Content-Length: 100\r\n\r\n" + std::string(100, 'a')),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(alive_in_handler, 1);
  const std::string piece = "32\r\n" + std::string(50, 'a') + "\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n" + piece + piece;
  EXPECT_THAT(Exchange(*server, chunked + "0\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  const std::string late = Exchange(*server, chunked + "1\r\na\r\n0\r\n\r\n");
  EXPECT_THAT(late, StartsWith("HTTP/1.1 429 "));
  EXPECT_THAT(late, HasSubstr("no room for 1"));
  EXPECT_TRUE(Eventually([&] { return alive == 0; }));
}

TEST(LimitsTest, AnAddressHasAsManyConnectionsAsItMay) {
  Faucet faucet;
  std::atomic<int> refused{0};
  net::ServerOptions options{.max_peer_connections = 2};
  options.on_peer_full = [&] { ++refused; };
  const auto server = StartTestServer(faucet, options);
  const std::string hello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
  auto one = std::make_unique<RawClient>(server->port());
  RawClient two(server->port());
  one->Send(hello);
  two.Send(hello);
  EXPECT_THAT(one->ReadUntil("hello"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(two.ReadUntil("hello"), StartsWith("HTTP/1.1 200 "));
  RawClient three(server->port());
  three.Send(hello);
  EXPECT_EQ(three.ReadToEnd(), "");
  EXPECT_EQ(refused, 1);
  one.reset();
  EXPECT_TRUE(Eventually([&] {
    RawClient next(server->port());
    next.Send(hello);
    return next.ReadUntil("hello").starts_with("HTTP/1.1 200 ");
  }));
}

TEST(LimitsTest, AClientIsAnIpv4AddressOrHalfOfAnIpv6Address) {
  EXPECT_EQ(net::ClientAddress("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(net::ClientAddress("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(net::ClientAddress("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(net::ClientAddress("2001:db8:1:2:3:4:5:6"), net::ClientAddress("2001:db8:1:2:ffff::1"));
  EXPECT_NE(net::ClientAddress("2001:db8:1:2::1"), net::ClientAddress("2001:db8:1:3::1"));
  EXPECT_EQ(net::ClientAddress("unix"), "unix");
  EXPECT_EQ(net::ClientAddress(""), "");
}

TEST(LimitsTest, HeadersAboveTheLimitAre431) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.max_header_bytes = 1000});
  EXPECT_THAT(Exchange(*server, "GET /hello HTTP/1.1\r\nHost: x\r\nA: " + std::string(2000, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
}

TEST(LimitsTest, BrokenRequestsAre400) {
  Faucet faucet;
  const auto server = StartTestServer(faucet);
  for (const std::string_view bytes :
       {"garbage\r\n\r\n", "GET /hello HTTP/3.0\r\n\r\n", "GET /hello HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET /he%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"}) {
    EXPECT_THAT(Exchange(*server, bytes), StartsWith("HTTP/1.1 400 ")) << bytes;
  }
}

TEST(LimitsTest, EncodingsThatAreNotServedAreNamed) {
  Faucet faucet;
  const auto server = StartTestServer(faucet);
  const std::string zipped =
      Exchange(*server, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_THAT(zipped, StartsWith("HTTP/1.1 415 "));
  const std::string transfer =
      Exchange(*server, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n");
  EXPECT_THAT(transfer, StartsWith("HTTP/1.1 501 "));
}

TEST(LimitsTest, UnknownPathsAre404AndWrongMethods405WithAllow) {
  Faucet faucet;
  const auto server = StartTestServer(faucet);
  EXPECT_THAT(Exchange(*server, "GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 404 "));
  const std::string answer = Exchange(*server, "DELETE /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST(LimitsTest, SlowHeadsAndBodiesAreCutOff) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.header_timeout = milliseconds(150), .body_timeout = milliseconds(150)});
  for (const std::string_view head :
       {"", "GET /hel", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab"}) {
    RawClient client(server->port());
    client.Send(head);
    EXPECT_EQ(client.ReadToEnd(), "") << head;
    EXPECT_TRUE(client.closed()) << head;
  }
}

TEST(LimitsTest, AFirstRequestAndTheNextHaveTimesOfTheirOwn) {
  Faucet faucet;
  const std::string hello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
  const auto short_idle = StartTestServer(faucet, {.idle_timeout = milliseconds(100)});
  const auto long_idle = StartTestServer(faucet, {.header_timeout = milliseconds(100)});
  RawClient fresh(short_idle->port()), served(short_idle->port()), kept(long_idle->port());
  served.Send(hello);
  kept.Send(hello);
  EXPECT_THAT(served.ReadUntil("hello"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(kept.ReadUntil("hello"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(served.ReadToEnd(milliseconds(5000)), "");
  EXPECT_TRUE(served.closed());
  std::this_thread::sleep_for(milliseconds(300));
  for (RawClient* client : {&fresh, &kept}) {
    client->Send(hello);
    EXPECT_THAT(client->ReadUntil("hello"), StartsWith("HTTP/1.1 200 "));
  }
}

TEST(LimitsTest, ABodyEarnsTimeByItsBytes) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.body_timeout = milliseconds(100), .min_body_rate = 1000});
  RawClient client(server->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3001\r\n\r\n" + std::string(3000, 'a'));
  std::this_thread::sleep_for(milliseconds(400));
  client.Send("z");
  EXPECT_THAT(client.ReadUntil("z"), StartsWith("HTTP/1.1 200 "));
  const auto any_rate = StartTestServer(faucet, {.min_body_rate = 0});
  EXPECT_THAT(Exchange(*any_rate, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1\r\n\r\na"),
              StartsWith("HTTP/1.1 200 "));
}

TEST(LimitsTest, AClientThatLeavesIsNoticedBehindTheRequestsThatItHasSent) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.max_header_bytes = 1000});
  {
    RawClient client(server->port());
    client.Send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(Eventually([&] { return faucet.started == 1; }));
    client.Send(std::string(63 << 10, 'x'));
  }
  EXPECT_TRUE(Eventually([&] { return faucet.abandoned == 1; }));
}

TEST(LimitsTest, AHeadMayBeLargerThanWhatIsReadAhead) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.max_header_bytes = 64u << 10});
  EXPECT_THAT(Exchange(*server, "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\nA: " +
                                    std::string(50'000, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 200 "));
}

TEST(LimitsTest, DribblingBytesDoNotExtendTheTimeOfAHead) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.header_timeout = milliseconds(200)});
  RawClient client(server->port());
  client.Send("GET /hello HTTP/1.1\r\nHost: x\r\nA: ");
  for (int i = 0; i < 100 && client.Send("a"); ++i) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

TEST(LimitsTest, AClientThatDoesNotReadIsCutOff) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.write_timeout = milliseconds(200)});
  RawClient client(server->port());
  client.Send("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return server->connections() == 1; }));
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

TEST(LimitsTest, ConnectionsAboveTheLimitAreClosedAndTheOthersServed) {
  Faucet faucet;
  const auto server = StartTestServer(faucet, {.max_connections = 2});
  std::array<RawClient, 2> kept{RawClient(server->port()), RawClient(server->port())};
  ASSERT_TRUE(Eventually([&] { return server->connections() == 2; }));
  RawClient surplus(server->port());
  EXPECT_EQ(surplus.ReadToEnd(), "");
  EXPECT_TRUE(surplus.closed());
  for (RawClient& client : kept) {
    client.Send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.ReadUntil("hello"), StartsWith("HTTP/1.1 200 "));
  }
}

TEST(LimitsTest, RandomBytesNeverStopTheServer) {
  Faucet faucet;
  const auto server = StartTestServer(faucet);
  std::mt19937 random(7);
  const std::string valid = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
  int answered = 0, refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = valid;
    for (int n = 0; n < 4; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    RawClient client(server->port());
    client.Send(bytes);
    client.EndSending();
    const std::string answer = client.ReadToEnd();
    EXPECT_TRUE(client.closed()) << "it waits for bytes that cannot come: " << bytes;
    if (answer.empty()) continue;
    ++answered;
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 "));
    refused += answer.starts_with("HTTP/1.1 4") ? 1 : 0;
  }
  EXPECT_GT(refused, 150) << "most have a wrong byte that matters";
  EXPECT_GT(answered, refused) << "some bytes do not matter";
  RawClient client(server->port());
  client.Send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("hello"), StartsWith("HTTP/1.1 200 "));
}

TEST(LimitsTest, ChunksFromAnHttp10ClientAre400) {
  Faucet faucet;
  const auto server = StartTestServer(faucet);
  EXPECT_THAT(Exchange(*server, "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
}

// A server whose /echo takes only bodies of callers that send the header X-Key.
std::unique_ptr<net::Server> StartGuardedServer() {
  net::Router router;
  router.Add(
      "POST", "/echo",
      [](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
        co_await writer.Send({200, "text/plain", request.body});
      },
      [](const net::Request& head) -> std::optional<net::Response> {
        if (!net::FindHeader(head.headers, "X-Key").empty()) return std::nullopt;
        return net::Response(401, "text/plain", "no key");
      });
  auto server = net::Server::Start({.max_buffered_bytes = 100}, std::move(router));
  EXPECT_TRUE(server.has_value());
  return std::move(*server);
}

TEST(LimitsTest, AHeadIsRefusedBeforeItsBodyArrives) {
  const auto server = StartGuardedServer();
  RawClient client(server->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n");  // the body never comes
  EXPECT_THAT(client.ReadUntil("no key"), StartsWith("HTTP/1.1 401 "));
  EXPECT_EQ(client.ReadToEnd(), "") << "the connection ends, or the body would be taken for a request";
  EXPECT_THAT(Exchange(*server, "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n"),
              StartsWith("HTTP/1.1 404 "));
}

TEST(LimitsTest, BodiesHeldBackByStrangersLeaveTheBudgetToCallers) {
  const auto server = StartGuardedServer();
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 16; ++i) {
    strangers.push_back(std::make_unique<RawClient>(server->port()));
    strangers.back()->Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n" + std::string(88, 'a'));
    EXPECT_THAT(strangers.back()->ReadUntil("no key"), StartsWith("HTTP/1.1 401 "));
  }
  RawClient caller(server->port());
  caller.Send("POST /echo HTTP/1.1\r\nHost: x\r\nX-Key: k\r\nContent-Length: 90\r\n\r\n" + std::string(89, 'a') + "z");
  EXPECT_THAT(caller.ReadUntil("z"), StartsWith("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace inferflux::testing
