#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/raw_client.h"
#include "net/test_server.h"

namespace inferflux::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kGetHello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kGetStream = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n";

class ServerTest : public ::testing::Test {
 protected:
  Faucet faucet_;
  std::unique_ptr<net::Server> server_ = StartTestServer(faucet_);
};

TEST_F(ServerTest, KeepsTheConnectionForTheNextRequest) {
  RawClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.Send(kGetHello);
    const std::string answer = client.ReadUntil("hello");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("Content-Length: 5\r\n"));
  }
  EXPECT_EQ(server_->connections(), 1u);
}

#if defined(__linux__)
TEST(ServerThreadsTest, AreAsManyAsWereAskedForAndAtLeastOne) {
  const auto count = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  // A thread that was joined may still be listed for a moment.
  const auto threads = [&] {
    auto last = count();
    for (int same = 0; same < 10; ++same) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (const auto now = count(); now != last) {
        last = now;
        same = 0;
      }
    }
    return last;
  };
  const auto before = threads();
  for (const int asked : {0, 1, 3}) {
    Faucet faucet;
    const auto server = net::Server::Start({.io_threads = asked}, TestRouter(faucet));
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_EQ(threads() - before, std::max(1, asked)) << asked;
  }
}
#endif

TEST_F(ServerTest, APortInUseSaysByWhom) {
  const auto second = net::Server::Start({.port = server_->port()}, TestRouter(faucet_));
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr("in use by net_test (process " + std::to_string(::getpid()) + ")"));
  EXPECT_THAT(second.error().message, HasSubstr("choose another port"));
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  RawClient client(server_->port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none"
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\ntwo");
  EXPECT_THAT(client.ReadUntil("one"), EndsWith("\r\n\r\none"));
  EXPECT_THAT(client.ReadToEnd(), EndsWith("\r\n\r\ntwo"));
}

TEST_F(ServerTest, KeepsBytesOfTheNextRequestThatComeWhileOneIsServed) {
  RawClient client(server_->port());
  client.Send(kGetStream);
  ASSERT_TRUE(Eventually([&] { return faucet_.started == 1; }));
  client.Send(kGetHello.substr(0, 9));
  client.Send(kGetHello.substr(9));
  faucet_.Let(3);
  EXPECT_THAT(client.ReadUntil("0\r\n\r\n"), HasSubstr("piece 2"));
  EXPECT_THAT(client.ReadUntil("hello"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ServerTest, StreamsPiecesAsChunksWhenTheyCome) {
  RawClient client(server_->port());
  client.Send(kGetStream);
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  faucet_.Let(1);
  EXPECT_EQ(client.ReadUntil("0\n\r\n"), "8\r\npiece 0\n\r\n");
  faucet_.Let(2);
  EXPECT_EQ(client.ReadUntil("0\r\n\r\n"), "8\r\npiece 1\n\r\n8\r\npiece 2\n\r\n0\r\n\r\n");
}

TEST_F(ServerTest, TheBodyOfAStreamsHeadIsItsFirstPiece) {
  RawClient client(server_->port());
  client.Send("GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("0\r\n\r\n"), EndsWith("\r\n\r\nf\r\nwith the head, \r\n5\r\nlater\r\n0\r\n\r\n"));
  RawClient old(server_->port());
  old.Send("GET /at-once HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.ReadToEnd(), EndsWith("\r\n\r\nwith the head, later"));
}

TEST_F(ServerTest, StreamsToHttp10WithoutChunksUntilTheConnectionCloses) {
  faucet_.Let(3);
  RawClient client(server_->port());
  client.Send("GET /stream HTTP/1.0\r\n\r\n");
  const std::string answer = client.ReadToEnd();
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, EndsWith("\r\n\r\npiece 0\npiece 1\npiece 2\n"));
  EXPECT_TRUE(client.closed());
}

TEST_F(ServerTest, NoticesAClientThatLeavesWhileTheHandlerWaits) {
  {
    RawClient client(server_->port());
    client.Send(kGetStream);
    client.ReadUntil("\r\n\r\n");
  }
  EXPECT_TRUE(Eventually([&] { return faucet_.abandoned == 1; }));
  EXPECT_TRUE(Eventually([&] { return server_->connections() == 0; }));
}

TEST_F(ServerTest, HeadHasTheHeadersOfGetWithoutTheBody) {
  RawClient client(server_->port());
  client.Send("HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadToEnd();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(ServerTest, AsksForTheBodyThatAClientHoldsBack) {
  RawClient client(server_->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("yes");
  EXPECT_THAT(client.ReadUntil("yes"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ServerTest, ReadsChunkedBodies) {
  RawClient client(server_->port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("abcde"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ServerTest, AHandlerThatThrowsIsAn500AndTheServerLives) {
  RawClient client(server_->port());
  client.Send("GET /throw HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = client.ReadUntil("\n", std::chrono::seconds(5));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  client.Send(kGetHello);
  EXPECT_THAT(client.ReadUntil("hello"), Not(HasSubstr("a bug")));
}

TEST_F(ServerTest, GracefulStopLetsARunningStreamEnd) {
  RawClient idle(server_->port());
  idle.Send(kGetHello);
  idle.ReadUntil("hello");
  RawClient client(server_->port());
  client.Send(kGetStream);
  client.ReadUntil("\r\n\r\n");
  std::thread stopper([&] { server_->Stop(std::chrono::seconds(20)); });
  idle.ReadToEnd();
  EXPECT_TRUE(idle.closed());
  faucet_.Let(3);
  EXPECT_THAT(client.ReadToEnd(), EndsWith("0\r\n\r\n"));
  EXPECT_TRUE(client.closed()) << "nothing more is read from it";
  stopper.join();
  EXPECT_FALSE(RawClient(server_->port()).connected());
}

TEST_F(ServerTest, GracefulStopAnswersWhatIsBeingReadAndSaysThatItCloses) {
  RawClient idle(server_->port());
  idle.Send(kGetHello);
  idle.ReadUntil("hello");
  RawClient client(server_->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  std::thread stopper([&] { server_->Stop(std::chrono::seconds(20)); });
  idle.ReadToEnd();
  EXPECT_TRUE(idle.closed());
  // This waits until the stop has told all connections. None of them reads what is sent later before it has been told.
  EXPECT_GE(server_->connections(), 1u);
  client.Send("yes");
  const std::string answer = client.ReadToEnd();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nyes"));
  EXPECT_TRUE(client.closed());
  stopper.join();
}

TEST_F(ServerTest, StopCancelsWhatOutlastsTheGrace) {
  RawClient client(server_->port());
  client.Send(kGetStream);
  client.ReadUntil("\r\n\r\n");
  server_->Stop(std::chrono::milliseconds(50));
  EXPECT_EQ(faucet_.abandoned, 1);
  client.ReadToEnd();
  EXPECT_TRUE(client.closed());
}

// Its handler has not begun, so nothing but the end of the connection stops it.
TEST_F(ServerTest, StopDoesNotWaitForABodyThatDoesNotCome) {
  RawClient client(server_->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe");
  client.ReadUntil("\n", std::chrono::milliseconds(100));
  ASSERT_EQ(server_->connections(), 1u);
  server_->Stop(std::chrono::milliseconds(50));
  EXPECT_EQ(server_->connections(), 0u);
}

TEST(ServerStartTest, APortThatIsTakenIsAnErrorThatNamesIt) {
  Faucet faucet;
  const auto first = StartTestServer(faucet);
  const auto second = net::Server::Start({.port = first->port()}, TestRouter(faucet));
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(first->port())));
}

TEST_F(ServerTest, TakesTheAbsoluteFormAndEmptyLinesBeforeARequest) {
  RawClient client(server_->port());
  client.Send("\r\nGET http://elsewhere.test/hello HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("hello"), StartsWith("HTTP/1.1 200 "));
  client.Send("\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("hello"), StartsWith("HTTP/1.1 200 "));
}

TEST(ServerStartTest, AHostThatIsNoNameIsRefused) {
  Faucet faucet;
  const auto server = net::Server::Start({.host = "no..name"}, TestRouter(faucet));
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(server.error().message, StartsWith("cannot resolve the host 'no..name': "));
}

TEST(ServerStartTest, AnAddressOfIpv6CanBeTheLoopbackToo) {
  const auto tell = [](const std::string& address, bool loopback) -> Status {
    return Fail(ErrorCode::kInvalidArgument, "{} {}", address, loopback);
  };
  const std::vector<std::pair<const char*, const char*>> cases = {{"::1", "::1 true"},
                                                                  {"::", ":: false"},
                                                                  {"::ffff:127.0.0.1", "::ffff:127.0.0.1 true"},
                                                                  {"::ffff:192.0.2.1", "::ffff:192.0.2.1 false"},
                                                                  {"127.0.0.1", "127.0.0.1 true"}};
  for (const auto& [host, right] : cases) {
    Faucet faucet;
    EXPECT_EQ(net::Server::Start({.host = host, .check_address = tell}, TestRouter(faucet)).error().message, right);
  }
}

TEST(ServerStartTest, TheResolvedAddressDecidesWhetherItIsLoopback) {
  const auto refuse_others = [](const std::string& address, bool loopback) -> Status {
    if (loopback) return {};
    return Fail(ErrorCode::kInvalidArgument, "{} lets others in", address);
  };
  for (const char* host : {"127.0.0.1", "127.1", "127.0.0.2", "localhost"}) {
    Faucet faucet;
    EXPECT_TRUE(net::Server::Start({.host = host, .check_address = refuse_others}, TestRouter(faucet))) << host;
  }
  for (const char* host : {"0", "0.0.0.0", "0x0"}) {
    Faucet faucet;
    const auto server = net::Server::Start({.host = host, .check_address = refuse_others}, TestRouter(faucet));
    ASSERT_FALSE(server) << host;
    EXPECT_EQ(server.error().message, "0.0.0.0 lets others in") << host;
  }
}

}  // namespace
}  // namespace inferflux::testing
