// The bytes of whole answers, what is reported of them, and the names of requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "net/raw_client.h"
#include "net/server.h"
#include "net/test_server.h"

namespace inferflux::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::StartsWith;

net::Router Routes() {
  net::Router router = [] {
    static Faucet unused;
    return TestRouter(unused);
  }();
  router.Add("GET", "/facts/{name}",
             [](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
               writer.Note({"name", request.parameters.at("name")});
               net::Response out(202, "text/plain", request.path + " " + request.query.at("q") + " " + request.peer);
               out.headers.push_back({"X-Own", "own"});
               out.reason = "a test";
               co_await writer.Send(std::move(out));
             });
  router.Add("GET", "/silent", [](const net::Request&, net::ResponseWriter&) -> asio::awaitable<void> { co_return; });
  router.Add("GET", "/throws-late", [](const net::Request&, net::ResponseWriter& writer) -> asio::awaitable<void> {
    co_await writer.Begin({200, "text/plain", "begun"});
    throw std::runtime_error("a bug");
  });
  router.Add("GET", "/empty-stream", [](const net::Request&, net::ResponseWriter& writer) -> asio::awaitable<void> {
    co_await writer.Begin({200, ""});
    co_await writer.Write("");
    co_await writer.End("end");
  });
  return router;
}

class AnswersTest : public ::testing::Test {
 protected:
  AnswersTest() {
    options_.on_answered = [this](const net::Answered& answered) {
      std::string line;
      for (const std::string_view part :
           {answered.method, answered.target, answered.route, answered.peer, answered.request_id})
        line.append(part).append("|");
      for (const auto& fact : answered.facts) line.append(fact.name).append(",");
      line += "|" + std::to_string(answered.status) + (answered.complete ? " complete" : " cut");
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
      durations_.push_back(answered.duration);
    };
    options_.idle_timeout = milliseconds(50);  // an answer that keeps the connection ends soon too
    options_.max_body_bytes = 100;
    options_.max_buffered_bytes = 60;
    options_.max_header_bytes = 2000;
  }
  void Start() {
    auto server = net::Server::Start(options_, Routes());
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  // All that the server sends until it closes, with D for the date.
  std::string Answer(const std::string& bytes) {
    RawClient client(server_->port());
    client.Send(bytes);
    return std::regex_replace(client.ReadToEnd(), std::regex("\r\nDate: [^\r]*"), "\r\nDate: D");
  }
  std::vector<std::string> Reported(size_t count) {
    EXPECT_TRUE(Eventually([&] {
      const std::lock_guard lock(mutex_);
      return lines_.size() >= count;
    }));
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  net::ServerOptions options_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<std::chrono::microseconds> durations_;
  std::unique_ptr<net::Server> server_;  // the last: it ends before what it reports to
};

const std::string kHead = " HTTP/1.1\r\nHost: x\r\n";

TEST_F(AnswersTest, AreTheseBytes) {
  Start();
  const std::string plain = "Content-Type: text/plain\r\n";
  EXPECT_EQ(Answer("GET /hello" + kHead + "\r\n"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 5\r\nConnection: keep-alive\r\n" + plain + "\r\nhello");
  EXPECT_EQ(Answer("POST /echo" + kHead + "Connection: close\r\nContent-Length: 3\r\n\r\nabc"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 3\r\nConnection: close\r\n" + plain + "\r\nabc");
  EXPECT_EQ(Answer("GET /facts/a%20b?q=1" + kHead + "Expect: 100-continue\r\n\r\n"),
            "HTTP/1.1 202 Accepted\r\nDate: D\r\nContent-Length: 22\r\nConnection: keep-alive\r\n" + plain +
                "X-Own: own\r\n\r\n/facts/a b 1 127.0.0.1");
  EXPECT_EQ(Answer("GET /empty-stream" + kHead + "\r\n"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\nConnection: "
            "keep-alive\r\n\r\n3\r\nend\r\n0\r\n\r\n");
  EXPECT_EQ(Answer("HEAD /at-once" + kHead + "\r\nHEAD /hello" + kHead + "\r\n"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n" + plain +
                "\r\nHTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 5\r\nConnection: keep-alive\r\n" + plain + "\r\n");
  EXPECT_EQ(Answer("GET /throws-late" + kHead + "\r\nGET /hello" + kHead + "\r\n"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n" + plain +
                "\r\n5\r\nbegun\r\n")
      << "what is cut short does not end as if it were whole, and nothing follows it";
}

TEST_F(AnswersTest, ToAnOldClientAreTheseBytes) {
  Start();
  const std::string plain = "Content-Type: text/plain\r\n";
  EXPECT_EQ(Answer("GET /hello HTTP/1.0\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 5\r\nConnection: close\r\n" + plain + "\r\nhello");
  EXPECT_EQ(Answer("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 5\r\nConnection: keep-alive\r\n" + plain + "\r\nhello");
}

TEST_F(AnswersTest, AStreamToAnOldClientEndsWithItsConnection) {
  Start();
  const std::string plain = "Content-Type: text/plain\r\n";
  RawClient client(server_->port());
  client.Send("GET /at-once HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const std::string stream = client.ReadToEnd(std::chrono::seconds(5));
  EXPECT_TRUE(client.closed()) << "only the connection's end tells the end of the stream";
  EXPECT_EQ(std::regex_replace(stream, std::regex("\r\nDate: [^\r]*"), "\r\nDate: D"),
            "HTTP/1.1 200 OK\r\nDate: D\r\nConnection: close\r\n" + plain + "\r\nwith the head, later");
}

TEST_F(AnswersTest, HaveTheDateInTheFormOfHttp) {
  Start();
  RawClient client(server_->port());
  client.Send("GET /hello" + kHead + "Connection: close\r\n\r\n");
  const std::string answer = client.ReadToEnd();
  const size_t at = answer.find("Date: ");
  ASSERT_NE(at, std::string::npos);
  std::tm time{};
  const char* end = ::strptime(answer.c_str() + at + 6, "%a, %d %b %Y %H:%M:%S GMT", &time);
  ASSERT_NE(end, nullptr) << answer;
  EXPECT_THAT(std::string(end), StartsWith("\r\n"));
  EXPECT_NEAR(static_cast<double>(::timegm(&time)), static_cast<double>(std::time(nullptr)), 30);
}

TEST_F(AnswersTest, OfTheServersOwnSayWhatIsWrongAndWhere) {
  options_.error_response = [](int status, std::string_view message, std::string_view target) {
    return net::Response(status, "", std::string(message) + " [" + std::string(target) + "]");
  };
  Start();
  const std::string long_header = "A: " + std::string(4000, 'a') + "\r\n";
  const std::string body = std::string(61, 'b');
  struct Case {
    std::string request;
    std::string status;
    bool keeps;
    std::string body;
  };
  const std::vector<Case> cases = {
      {"GET /none?a=1" + kHead + "\r\n", "404 Not Found", true, "no such path: /none [/none]"},
      {"POST /none" + kHead + "Content-Length: 1\r\n\r\nx", "404 Not Found", false, "no such path: /none [/none]"},
      {"DELETE /hello" + kHead + "\r\n", "405 Method Not Allowed", true,
       "DELETE is not served at /hello; use GET, HEAD [/hello]"},
      {"GET /%zz" + kHead + "\r\n", "400 Bad Request", true, ""},
      {"POST /%zz" + kHead + "Content-Length: 1\r\n\r\nx", "400 Bad Request", false, ""},
      {"GET /a HTTP/1.1\r\n\r\n", "400 Bad Request", false, "exactly one Host header is needed [/a]"},
      {"POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 Bad Request", false,
       "Transfer-Encoding needs HTTP/1.1 [/a]"},
      {"POST /a" + kHead + "Transfer-Encoding: gzip, chunked\r\n\r\n", "501 Not Implemented", false,
       "Transfer-Encoding: only 'chunked' is served [/a]"},
      {"POST /a" + kHead + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", "415 Unsupported Media Type", false,
       "Content-Encoding: only 'identity' is served; send the body uncompressed [/a]"},
      {"POST /echo" + kHead + "Content-Encoding: Identity\r\nContent-Length: 1\r\n\r\nx", "200 OK", true, "x"},
      {"POST /echo" + kHead + "Transfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "200 OK", true, "x"},
      {"POST /echo" + kHead + "Content-Length: 101\r\n\r\n", "413 Payload Too Large", false,
       "the request body is larger than the limit of 100 bytes [/echo]"},
      {"POST /echo?x" + kHead + "Content-Length: 61\r\n\r\n" + body, "503 Service Unavailable", false,
       "the server holds too many large requests; try again later [/echo?x]"},
      {"POST /echo" + kHead + "Content-Length: 60\r\n\r\n" + body.substr(1), "200 OK", true, body.substr(1)},
      {"GET /hello" + kHead + long_header + "\r\n", "431 Request Header Fields Too Large", false,
       "the request's headers are larger than the limit of 2000 bytes [/hello]"},
      {"GET /throw" + kHead + "\r\n", "500 Internal Server Error", true,
       "internal error; the server's log has more [/throw]"},
      {"GET /silent" + kHead + "\r\n", "500 Internal Server Error", true,
       "internal error; the server's log has more [/silent]"},
  };
  for (const Case& each : cases) {
    const std::string answer = Answer(each.request);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + each.status + "\r\n")) << each.request;
    EXPECT_EQ(answer.find("\r\nConnection: keep-alive\r\n") != std::string::npos, each.keeps) << each.request;
    if (!each.body.empty()) {
      EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), each.body) << each.request;
    }
  }
  EXPECT_THAT(Answer("DELETE /hello" + kHead + "\r\n"), ::testing::HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_THAT(Answer("GET /%zz?a" + kHead + "\r\n"),
              ::testing::ContainsRegex("the request target is not a valid path: .*\\[/%zz.a\\]"));
  EXPECT_THAT(Answer("garbage\r\n\r\n"), ::testing::HasSubstr("\r\n\r\nthe request is not valid HTTP/1.1: "));
}

TEST_F(AnswersTest, AreReportedWithAllThatIsKnown) {
  options_.make_request_id = [] { return "made"; };
  Start();
  for (const std::string& request :
       {"GET /facts/n?q=secret" + kHead + "X-Request-Id: given\r\n\r\n", "DELETE /hello" + kHead + "\r\n",
        "GET /throws-late" + kHead + "\r\n", std::string("garbage\r\n\r\n"),
        "POST /none" + kHead + "Content-Length: 1\r\n\r\nx", "GET /none?x" + kHead + "\r\n"}) {
    Answer(request);
  }
  EXPECT_THAT(Reported(6),
              ::testing::UnorderedElementsAre(
                  "GET|/facts/n|/facts/{name}|127.0.0.1|given|name,reason,|202 complete",
                  "DELETE|/hello|/hello|127.0.0.1|made||405 complete",
                  "GET|/throws-late|/throws-late|127.0.0.1|made||200 cut", "|||127.0.0.1|made||400 complete",
                  "POST|/none||127.0.0.1|made||404 complete", "GET|/none||127.0.0.1|made||404 complete"));
  const std::lock_guard lock(mutex_);
  for (const auto duration : durations_) {
    EXPECT_GE(duration.count(), 0);
    EXPECT_LT(duration, std::chrono::seconds(10));
  }
}

TEST_F(AnswersTest, CarryThePlainIdOfTheClientOrAMadeOne) {
  options_.make_request_id = [] { return "made"; };
  options_.more_headers = [](const net::Request& request) {
    return std::vector<net::Header>{{"X-More", request.method + " " + request.id}};
  };
  Start();
  const std::string longest(128, 'i');
  const std::vector<std::pair<std::string, std::string>> cases = {{"aZ09._:-", "aZ09._:-"}, {longest, longest},
                                                                  {longest + "i", "made"},  {"a b", "made"},
                                                                  {"a;b", "made"},          {"", "made"}};
  for (const auto& [given, right] : cases) {
    const std::string answer = Answer("GET /hello" + kHead + "X-Request-Id: " + given + "\r\n\r\n");
    EXPECT_THAT(answer, ::testing::HasSubstr("\r\nX-Request-Id: " + right +
                                             "\r\nContent-Type: text/plain\r\nX-More: GET " + right + "\r\n"))
        << given;
  }
  EXPECT_THAT(Answer("GET /none" + kHead + "\r\n"), ::testing::HasSubstr("\r\nX-More: GET made\r\n"));
}

TEST(HttpMessageTest, FindsTheFirstHeaderInAnyCaseAndNamesStatuses) {
  const std::vector<net::Header> headers = {{"A", "0"}, {"x-key", "1"}, {"X-Key", "2"}};
  EXPECT_EQ(net::FindHeader(headers, "X-KEY"), "1");
  EXPECT_EQ(net::FindHeader(headers, "X-Ke"), "");
  EXPECT_EQ(net::ReasonPhrase(404), "Not Found");
  EXPECT_EQ(net::ReasonPhrase(200), "OK");
}

}  // namespace
}  // namespace inferflux::testing
