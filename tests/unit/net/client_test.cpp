#include "net/client.h"

#include <gtest/gtest.h>

#include <thread>

#include "net/test_server.h"

namespace inferflux::testing {
namespace {

class ClientTest : public ::testing::Test {
 protected:
  Faucet faucet_;
  std::unique_ptr<net::Server> server_ = StartTestServer(faucet_);
  net::Client client_{net::ServerAddress{"127.0.0.1", server_->port(), ""}};
};

TEST_F(ClientTest, SendsABodyAndReadsTheResponse) {
  const std::string body(100'000, 'b');
  const auto response = client_.Send({.method = "POST", .target = "/echo", .body = body});
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, body);
  EXPECT_EQ(net::FindHeader(response->headers, "content-type"), "text/plain");
}

TEST_F(ClientTest, StreamsPiecesAsTheyCome) {
  std::string seen;
  faucet_.Let(1);
  const auto response = client_.Stream({.target = "/stream"}, [&](std::string_view piece) {
    seen += piece;
    faucet_.Let(1);  // the next piece is sent only after this one was received
  });
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(seen, "piece 0\npiece 1\npiece 2\n");
}

TEST_F(ClientTest, AnErrorsBodyIsReturnedEvenWhereAStreamWasAskedFor) {
  const auto response = client_.Stream({.target = "/nowhere"}, [](std::string_view) { FAIL(); });
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 404);
  EXPECT_NE(response->body, "");
}

TEST_F(ClientTest, CanBeInterruptedWhileItWaitsAndTheServerNotices) {
  client_.should_stop = [&] { return faucet_.started == 1; };
  const auto response = client_.Stream({.target = "/stream"}, [](std::string_view) {});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return faucet_.abandoned == 1; }));
}

TEST_F(ClientTest, NoServerIsAnErrorThatNamesTheAddress) {
  server_->Stop(std::chrono::milliseconds(0));
  const auto response = client_.Send({.target = "/hello"});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(response.error().message.find("127.0.0.1:" + std::to_string(server_->port())), std::string::npos);
}

}  // namespace
}  // namespace inferflux::testing
