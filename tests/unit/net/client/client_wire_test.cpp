// What both clients write, byte by byte, and what they make of answers that end too early, are too large or come late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "net/client.h"
#include "net/client/async_client.h"
#include "net/raw_server.h"
#include "net/test_server.h"

namespace inferflux::net {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kOk = "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok";

ServerAddress At(uint16_t port, std::string base = "") { return {"127.0.0.1", port, std::move(base)}; }

// The whole response of an asynchronous client with a thread of its own.
Result<ClientResponse> SendAsync(ServerAddress to, ClientRequest request, AsyncClientOptions options = {}) {
  asio::io_context io(1);
  const auto client = std::make_shared<AsyncClient>(io, std::move(to), options);
  auto answer = asio::co_spawn(io, client->Send(std::move(request)), asio::use_future);
  io.run();
  return answer.get();
}

std::string Text(const Result<ClientResponse>& answer) {
  if (!answer) return answer.error().message;
  std::string out = std::to_string(answer->status);
  for (const Header& header : answer->headers) out += " " + header.name + "=" + header.value;
  return out + " " + answer->body;
}

TEST(ClientWireTest, TheRequestsBytesAreThose) {
  testing::RawServer server({kOk, kOk, kOk});
  const Client client(At(server.port(), "/base"));
  EXPECT_EQ(Text(client.Send({.method = "POST", .target = "/a?b=c", .headers = {{"X-Key", "k"}}, .body = "{}"})),
            "200 X-A=1 Content-Length=2 ok");
  EXPECT_TRUE(client.Send({.target = "/get"}));
  EXPECT_TRUE(client.Send({.method = "PUT", .target = "/", .headers = {{"Content-Type", "text/plain"}}, .body = "x"}));
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  EXPECT_EQ(server.requests()[0],
            "POST /base/a?b=c HTTP/1.1\r\n" + host +
                "Connection: close\r\nX-Key: k\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(server.requests()[1], "GET /base/get HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n");
  EXPECT_EQ(server.requests()[2], "PUT /base/ HTTP/1.1\r\n" + host +
                                      "Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx");
}

TEST(ClientWireTest, TheAsynchronousClientsBytesAreThose) {
  testing::RawServer server({kOk, kOk, kOk, kOk, kOk});
  const ServerAddress to = At(server.port(), "/base");
  EXPECT_EQ(Text(SendAsync(to, {.method = "POST", .target = "/a?b=c", .headers = {{"X-Key", "k"}}, .body = "{}"})),
            "200 X-A=1 Content-Length=2 ok");
  EXPECT_TRUE(SendAsync(to, {.method = "GET", .target = "/get", .headers = {}, .body = ""}));
  EXPECT_TRUE(SendAsync(to, {.method = "POST", .target = "/post", .headers = {}, .body = ""}));
  EXPECT_TRUE(SendAsync(to, {.method = "PUT", .target = "/put", .headers = {}, .body = ""}));
  EXPECT_TRUE(SendAsync(to, {.method = "DELETE", .target = "/delete", .headers = {}, .body = "x"}));
  const std::string host = " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  EXPECT_EQ(server.requests(),
            (std::vector<std::string>{
                "POST /base/a?b=c" + host + "X-Key: k\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
                "GET /base/get" + host + "\r\n",
                "POST /base/post" + host + "Content-Length: 0\r\n\r\n",
                "PUT /base/put" + host + "Content-Length: 0\r\n\r\n",
                "DELETE /base/delete" + host + "Content-Type: application/json\r\nContent-Length: 1\r\n\r\nx",
            }));
}

TEST(ClientWireTest, AnAnswerThatEndsTooEarlyIsAnErrorWithTheServersName) {
  for (const std::string& answer : {std::string(), std::string("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok")}) {
    testing::RawServer server({answer, answer});
    const std::string right = "reading from 127.0.0.1:" + std::to_string(server.port()) + ": ";
    const auto plain = Client(At(server.port())).Send({.target = "/"});
    ASSERT_FALSE(plain) << answer;
    EXPECT_EQ(plain.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(plain.error().message, StartsWith(right));
    const auto async = SendAsync(At(server.port()), {.method = "GET", .target = "/", .headers = {}, .body = ""});
    ASSERT_FALSE(async) << answer;
    EXPECT_EQ(async.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(async.error().message, StartsWith(right));
  }
}

// Answers with as many bytes as the query says, after as many milliseconds.
std::unique_ptr<Server> StartSizedServer() {
  Router router;
  router.Add("GET", "/bytes", [](const Request& request, ResponseWriter& writer) -> asio::awaitable<void> {
    Response out(200, "text/plain", std::string(std::stoul(request.query.at("n")), 'x'));
    out.delay = std::chrono::milliseconds(std::stoul(request.query.at("wait")));
    co_await writer.Send(std::move(out));
  });
  auto server = Server::Start({}, std::move(router));
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

ClientRequest Bytes(size_t count, int wait = 0) {
  ClientRequest out;
  out.target = "/bytes?n=" + std::to_string(count) + "&wait=" + std::to_string(wait);
  return out;
}

TEST(ClientWireTest, AnAnswerHasAtMostSoManyBytes) {
  const auto server = StartSizedServer();
  const ServerAddress to = At(server->port());
  constexpr size_t kMost = Client::kMaxBodyBytes;
  const std::string refusal = "the server's response is larger than 67108864 bytes";
  const auto whole = Client(to).Send(Bytes(kMost));
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->body.size(), kMost);
  EXPECT_EQ(Text(Client(to).Send(Bytes(kMost + 1))), refusal);
  const auto async = SendAsync(to, Bytes(kMost));
  ASSERT_TRUE(async) << async.error().message;
  EXPECT_EQ(async->body.size(), kMost);
  EXPECT_EQ(Text(SendAsync(to, Bytes(kMost + 1))), refusal);
  size_t streamed = 0;
  EXPECT_TRUE(Client(to).Stream(Bytes(kMost + 1), [&](std::string_view piece) { streamed += piece.size(); }));
  EXPECT_EQ(streamed, kMost + 1) << "a stream has no limit";
}

TEST(ClientWireTest, WaitsForALateAnswerAndNotLongerThanItMay) {
  const auto server = StartSizedServer();
  Client client(At(server->port()));
  const auto begin = std::chrono::steady_clock::now();
  const auto late = client.Send(Bytes(3, 300));
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(late->body, "xxx");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 300ms);
  EXPECT_EQ(SendAsync(At(server->port()), Bytes(3, 300))->body, "xxx");
  client.silence_timeout = 50ms;
  EXPECT_THAT(Text(client.Send(Bytes(3, 1000))), StartsWith("reading from 127.0.0.1:"));
  EXPECT_THAT(Text(SendAsync(At(server->port()), Bytes(3, 1000), {.silence_timeout = 50ms})),
              StartsWith("reading from 127.0.0.1:"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(ClientWireTest, AnInterruptionSaysSoAndACallbacksExceptionReachesTheCaller) {
  const auto server = StartSizedServer();
  Client client(At(server->port()));
  EXPECT_THROW((void)client.Stream(Bytes(3), [](std::string_view) { throw std::runtime_error("full"); }),
               std::runtime_error);
  client.should_stop = [] { return false; };
  EXPECT_EQ(client.Send(Bytes(3, 250))->body, "xxx");
  client.should_stop = [] { return true; };
  EXPECT_EQ(Text(client.Send(Bytes(3, 1000))), "interrupted");
}

TEST(ClientWireTest, AnAnswerToHeadHasNoBodyButItsLength) {
  const auto server = StartSizedServer();
  ClientRequest head = Bytes(3);
  head.method = "HEAD";
  for (const auto& answer : {Client(At(server->port())).Send(head), SendAsync(At(server->port()), head)}) {
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "");
    EXPECT_EQ(FindHeader(answer->headers, "content-length"), "3");
  }
}

// Connections that an asynchronous client keeps.
class KeptConnectionsTest : public ::testing::Test {
 protected:
  void Use(AsyncClientOptions options, uint16_t port) {
    client_ = std::make_shared<AsyncClient>(io_, At(port), options);
  }
  template <class T>
  T Run(asio::awaitable<T> work) {
    auto result = asio::co_spawn(io_, std::move(work), asio::use_future);
    io_.restart();
    io_.run();
    return result.get();
  }
  // Two exchanges at the same time, read to their ends.
  static asio::awaitable<std::string> Two(AsyncClient& client) {
    auto first = co_await client.Start(Bytes(1));
    auto second = co_await client.Start(Bytes(2));
    if (!first || !second) co_return "no answer";
    auto one = co_await (*first)->ReadAll();
    auto two = co_await (*second)->ReadAll();
    co_return one&& two ? *one + " " + *two : "no body";
  }

  asio::io_context io_{1};
  std::shared_ptr<AsyncClient> client_;
};

TEST_F(KeptConnectionsTest, AreAsManyAsTheyMay) {
  const auto server = StartSizedServer();
  for (const size_t most : {0u, 1u, 2u, 3u}) {
    Use({.max_kept = most}, server->port());
    EXPECT_EQ(Run(Two(*client_)), "x xx");
    EXPECT_EQ(client_->kept(), std::min<size_t>(most, 2)) << most;
  }
}

TEST_F(KeptConnectionsTest, AreThoseWhoseAnswerHasEndedAndThatStayOpen) {
  for (const char* answer : {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
                             "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more than that"}) {
    testing::RawServer server({answer});
    Use({}, server.port());
    EXPECT_EQ(Run(client_->Send({.method = "GET", .target = "/", .headers = {}, .body = ""}))->body, "ok") << answer;
    EXPECT_EQ(client_->kept(), 0u) << answer;
  }
}

TEST_F(KeptConnectionsTest, AClosedExchangeEndsItsRead) {
  const auto server = StartSizedServer();
  Use({}, server->port());
  const auto read = [](AsyncClient& client) -> asio::awaitable<std::string> {
    auto exchange = co_await client.Start(Bytes(1 << 20));
    if (!exchange) co_return "no answer";
    (*exchange)->Close();
    for (int i = 0; i < 1000; ++i) {  // what had arrived by then may still come
      auto piece = co_await (*exchange)->Read();
      if (!piece) co_return piece.error().message;
      if (piece->empty()) co_return "all of it";
    }
    co_return "no end";
  };
  EXPECT_THAT(Run(read(*client_)), HasSubstr("reading from 127.0.0.1:"));
  EXPECT_EQ(client_->kept(), 0u);
}

}  // namespace
}  // namespace inferflux::net
