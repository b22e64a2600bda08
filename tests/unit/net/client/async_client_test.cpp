#include "net/client/async_client.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "net/test_server.h"

namespace inferflux::net {
namespace asio = boost::asio;
namespace {

using namespace std::chrono_literals;
using testing::Faucet;
using testing::TestRouter;

// A function, because GCC 12 destroys an aggregate that is made inside a co_await expression twice.
ClientRequest Get(std::string target) {
  ClientRequest out;
  out.target = std::move(target);
  return out;
}

class AsyncClientTest : public ::testing::Test {
 public:
  void SetUp() override { Listen(0); }
  void Listen(uint16_t port) {
    ServerOptions options;
    options.port = port;
    auto server = Server::Start(options, TestRouter(faucet_));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    if (!client_) client_ = std::make_shared<AsyncClient>(io_, ServerAddress{"127.0.0.1", server_->port(), ""});
  }

  // Runs a coroutine to its end.
  template <class T>
  T Run(asio::awaitable<T> work) {
    auto result = asio::co_spawn(io_, std::move(work), asio::use_future);
    io_.restart();
    io_.run();
    return result.get();
  }
  Result<ClientResponse> Send(ClientRequest request) { return Run(client_->Send(std::move(request))); }

  Faucet faucet_;
  std::unique_ptr<Server> server_;
  asio::io_context io_{1};
  std::shared_ptr<AsyncClient> client_;
};

TEST_F(AsyncClientTest, UsesOneConnectionForRequestsInARow) {
  for (int i = 0; i < 5; ++i) {
    const auto answer = Send({.method = "POST", .target = "/echo", .headers = {}, .body = std::to_string(i)});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, std::to_string(i));
    EXPECT_EQ(client_->kept(), 1u);
  }
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(AsyncClientTest, AKeptConnectionThatTheServerHasClosedIsReplaced) {
  ASSERT_TRUE(Send(Get("/hello")));
  const uint16_t port = server_->port();
  server_->Stop(0ms);
  server_.reset();
  Listen(port);
  const auto answer = Send(Get("/hello"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "hello");
}

TEST_F(AsyncClientTest, TheOtherConnectionsToAServerThatHasClosedOneAreGivenUp) {
  const auto two = [](AsyncClient& client) -> asio::awaitable<bool> {
    auto first = co_await client.Start(Get("/hello"));
    auto second = co_await client.Start(Get("/hello"));
    co_return first&& second&& co_await (*first)->ReadAll() && co_await (*second)->ReadAll();
  };
  ASSERT_TRUE(Run(two(*client_)));
  EXPECT_EQ(client_->kept(), 2u);
  const uint16_t port = server_->port();
  server_->Stop(0ms);
  server_.reset();
  Listen(port);
  ASSERT_TRUE(Send(Get("/hello")));
  EXPECT_EQ(client_->kept(), 1u);
  EXPECT_EQ(server_->connections(), 1u);
  client_->CloseKept();
  EXPECT_EQ(client_->kept(), 0u);
}

TEST_F(AsyncClientTest, ARequestIsOnItsWayBeforeTheClientsThreadRuns) {
  ASSERT_TRUE(Send(Get("/hello")));
  auto sent = client_->SendNow(Get("/stream"));
  EXPECT_EQ(client_->kept(), 0u);
  for (int i = 0; i < 2000 && faucet_.started == 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(faucet_.started, 1) << "nothing runs the client's io_context";
  faucet_.Let(3);
  const auto read = [](AsyncClientTest& test, std::unique_ptr<SentRequest> request) -> asio::awaitable<std::string> {
    auto exchange = co_await test.client_->Resume(std::move(request));
    if (!exchange) co_return exchange.error().message;
    auto body = co_await (*exchange)->ReadAll();
    co_return body ? *body : body.error().message;
  };
  EXPECT_EQ(Run(read(*this, std::move(sent))), "piece 0\npiece 1\npiece 2\n");
  EXPECT_EQ(client_->kept(), 1u);
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(AsyncClientTest, ARequestThatWasSentIsCancelledByDroppingIt) {
  ASSERT_TRUE(Send(Get("/hello")));
  auto sent = client_->SendNow(Get("/stream"));
  for (int i = 0; i < 2000 && faucet_.started == 0; ++i) std::this_thread::sleep_for(1ms);
  sent.reset();
  for (int i = 0; i < 2000 && faucet_.abandoned == 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(faucet_.abandoned, 1);
}

TEST_F(AsyncClientTest, SendNowSurvivesAConnectionThatIsClosedAndOneThatTakesOnlyAPart) {
  const auto finish = [](AsyncClientTest& test, std::unique_ptr<SentRequest> request) -> asio::awaitable<std::string> {
    auto exchange = co_await test.client_->Resume(std::move(request));
    if (!exchange) co_return exchange.error().message;
    auto body = co_await (*exchange)->ReadAll();
    co_return body ? *body : body.error().message;
  };
  ASSERT_TRUE(Send(Get("/hello")));
  const uint16_t port = server_->port();
  server_->Stop(0ms);
  server_.reset();
  Listen(port);
  EXPECT_EQ(Run(finish(*this, client_->SendNow(Get("/hello")))), "hello");
  // More than the socket's buffers take: the rest follows when the server reads.
  const ClientRequest large{.method = "POST", .target = "/echo", .headers = {}, .body = std::string(16 << 20, 'x')};
  auto sent = client_->SendNow(large);
  ASSERT_NE(sent->stream, nullptr);
  EXPECT_GT(sent->written, 0u);
  EXPECT_LT(sent->written, large.body.size());
  EXPECT_EQ(Run(finish(*this, std::move(sent))), large.body);
  EXPECT_EQ(client_->SendNow(Get("/hello"))->written > 0, true) << "the connection was kept";
}

TEST_F(AsyncClientTest, SaysWhenNobodyAnswers) {
  server_->Stop(0ms);
  server_.reset();
  const auto answer = Send(Get("/hello"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

TEST_F(AsyncClientTest, ReadsAStreamPieceByPiece) {
  const auto read = [](AsyncClientTest& test) -> asio::awaitable<int> {
    auto exchange = co_await test.client_->Start(Get("/stream"));
    if (!exchange) co_return -1;
    int pieces = 0;
    for (;;) {
      test.faucet_.Let(1);
      auto piece = co_await (*exchange)->Read();
      if (!piece) co_return -2;
      if (piece->empty()) co_return pieces;
      ++pieces;
    }
  };
  EXPECT_GE(Run(read(*this)), 1);
}

TEST_F(AsyncClientTest, AnExchangeThatIsDroppedHalfReadClosesItsConnection) {
  const auto drop = [](AsyncClientTest& test) -> asio::awaitable<bool> {
    auto exchange = co_await test.client_->Start(Get("/stream"));
    co_return exchange.has_value();
  };
  EXPECT_TRUE(Run(drop(*this)));
  EXPECT_EQ(client_->kept(), 0u);
  for (int i = 0; i < 2000 && faucet_.abandoned == 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(faucet_.abandoned, 1);
}

TEST_F(AsyncClientTest, AnExchangeThatIsClosedEndsTheReadThatWaits) {
  const auto wait = [](AsyncClientTest& test) -> asio::awaitable<bool> {
    auto exchange = co_await test.client_->Start(Get("/stream"));
    if (!exchange) co_return false;
    asio::steady_timer soon(co_await asio::this_coro::executor, 50ms);
    soon.async_wait([&](boost::system::error_code error) {
      if (!error) (*exchange)->Close();
    });
    const auto piece = co_await (*exchange)->Read();
    co_return !piece;
  };
  EXPECT_TRUE(Run(wait(*this)));
}

}  // namespace
}  // namespace inferflux::net
