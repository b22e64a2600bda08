// What `inferctl bench` sends, counts and prints, whole; and the client that all commands use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "apps/inferctl/bench/load_report.h"
#include "apps/inferctl/bench/load_run.h"
#include "apps/inferctl/client/api_client.h"
#include "net/http_message.h"
#include "net/server.h"

namespace inferflux::apps {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;

LoadReport Report() {
  return {.url = "http://host:8080",
          .succeeded = 3,
          .failures = {"late", "odd", "late"},
          .seconds = 2.0,
          .prompt_tokens = 40,
          .cached_tokens = 10,
          .output_tokens = 25,
          .first_token = {.p50 = 0.5, .p90 = 0.75, .p99 = 1.0},
          .between = {.p50 = 0.125, .p90 = 0.25, .p99 = 0.5}};
}

TEST(LoadTables, JsonHasMilliseconds) {
  EXPECT_EQ(json::value(ToJson(Report())), json::parse(R"({"url":"http://host:8080","succeeded":3,"failed":3,
      "seconds":2.0,"output_tokens":25,"output_tokens_per_second":12.5,"prompt_tokens":40,"cached_share":0.25,
      "time_to_first_token_ms":{"p50":500.0,"p90":750.0,"p99":1000.0},
      "inter_token_ms":{"p50":125.0,"p90":250.0,"p99":500.0}})"));
}

TEST(LoadTables, ATableHasARowForEachServerAndEachFailureOnce) {
  const std::vector<LoadReport> reports = {Report(), {.url = "b"}};
  EXPECT_EQ(ToTable(reports),
            "server            out tok/s    first token p50/p99        between p50/p99  cached      ok  failed\n"
            "http://host:8080       12.5      500.0 / 1000.0 ms       125.0 / 500.0 ms   25.0%       3       3\n"
            "b                       0.0           0.0 / 0.0 ms           0.0 / 0.0 ms    0.0%       0       0\n"
            "http://host:8080: 2 x late\n"
            "http://host:8080: 1 x odd\n");
  EXPECT_EQ(ToTable({}), "server  out tok/s    first token p50/p99        between p50/p99  cached      ok  failed\n");
}

TEST(LoadTables, RoundsOfAServerAreAdded) {
  const RequestRecord one{
      .first_token = 0.5, .gaps = {0.25}, .prompt_tokens = 4, .cached_tokens = 1, .output_tokens = 2};
  const RequestRecord two{.first_token = 1.0, .gaps = {}, .prompt_tokens = 6, .cached_tokens = 4, .output_tokens = 3};
  const std::vector<LoadResult> rounds{{.seconds = 1.0, .records = {one}}, {.seconds = 0.5, .records = {two}}};
  const LoadReport report = Summarise("u", rounds);
  EXPECT_EQ(report.url, "u");
  EXPECT_EQ(report.seconds, 1.5);
  EXPECT_EQ(report.prompt_tokens, 10);
  EXPECT_EQ(report.cached_tokens, 5);
  EXPECT_EQ(report.output_tokens, 5);
  EXPECT_EQ(report.first_token.p99, 1.0);
  EXPECT_EQ(report.between.p50, 0.25);
}

TEST(PromptSource, APromptIsSharedWholeOrNotAtAll) {
  const LoadShape whole{.prompt_tokens = 5, .shared_prefix = 1.0, .vocab = 50000, .seed = 1};
  PromptSource same(whole, 0);
  EXPECT_EQ(same.Next(), same.Next());
  const LoadShape none{.prompt_tokens = 5, .vocab = 3, .seed = 1};
  PromptSource other(none, 0);
  bool one = false, two = false;
  for (int i = 0; i < 50; ++i) {
    const auto prompt = other.Next();
    ASSERT_EQ(prompt.size(), 5u);
    for (const int32_t id : prompt) {
      ASSERT_TRUE(id == 1 || id == 2);
      (id == 1 ? one : two) = true;
    }
  }
  EXPECT_TRUE(one && two) << "all ids of the vocabulary but 0";
  EXPECT_EQ(other.NextGap(), 0.0) << "without a rate";
  const LoadShape seeded{.prompt_tokens = 5, .vocab = 50000, .seed = 2};
  EXPECT_NE(PromptSource(seeded, 0).Next(), PromptSource({.prompt_tokens = 5, .vocab = 50000, .seed = 3}, 0).Next());
}

// A server with one answer, which keeps the requests.
struct KeepingServer {
  explicit KeepingServer(std::string text, int status = 200) {
    net::Router router;
    for (const char* method : {"GET", "POST", "DELETE"}) {
      for (const char* target : {"/v1/completions", "/livez", "/thing"}) {
        router.Add(method, target,
                   [this, text, status, method](const net::Request& request,
                                                net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
                     {
                       const std::lock_guard lock(mutex);
                       asked.push_back(std::string(method) + " " + std::string(request.body));
                       key = std::string(net::FindHeader(request.headers, "authorization"));
                     }
                     co_await writer.Send({status, "text/event-stream", text});
                   });
      }
    }
    auto started = net::Server::Start({}, std::move(router));
    EXPECT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  net::ServerAddress address() const { return {"127.0.0.1", server->port(), ""}; }

  std::mutex mutex;
  std::vector<std::string> asked;
  std::string key;
  std::unique_ptr<net::Server> server;
};

constexpr const char* kAnswer =
    "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}],\"usage\":{\"completion_tokens\":3}}\n\n"
    "data: [DONE]\n\n";

TEST(LoadRun, AsManyRequestsRunAsWereAskedFor) {
  for (const double rate : {0.0, 1000.0}) {
    KeepingServer server(kAnswer);
    const LoadShape shape{
        .model = "m", .concurrency = 3, .rate = rate, .requests = 7, .prompt_tokens = 2, .max_tokens = 3};
    const LoadTarget target{"u", server.address(), "secret"};
    int told = 0;
    const LoadResult result = RunLoad(
        target, shape, 0, [&](const RequestRecord& record) { told += record.failure.empty() ? 1 : 100; },
        [] { return false; });
    EXPECT_EQ(result.records.size(), 7u);
    EXPECT_EQ(told, 7);
    EXPECT_GT(result.seconds, 0.0);
    EXPECT_EQ(server.key, "Bearer secret");
    ASSERT_EQ(server.asked.size(), 7u);
    json::value body = json::parse(server.asked[0].substr(5));
    EXPECT_EQ(body.at("prompt").as_array().size(), 2u);
    body.as_object().erase("prompt");
    EXPECT_EQ(body, json::parse(R"({"model":"m","max_tokens":3,"temperature":0,"ignore_eos":true,
        "stream_options":{"include_usage":true},"stream":true})"));
  }
}

TEST(LoadRun, AnInterruptBeginsNothingMore) {
  KeepingServer server(kAnswer);
  std::atomic<int> left = 3;
  const LoadShape shape{.concurrency = 1, .requests = 9, .prompt_tokens = 2, .max_tokens = 3};
  const LoadResult result = RunLoad(
      {"u", server.address(), ""}, shape, 0, [&](const RequestRecord&) { --left; }, [&] { return left == 0; });
  EXPECT_EQ(result.records.size(), 3u);
  EXPECT_EQ(server.key, "");
}

std::string Said(const Result<json::value>& answer) {
  return answer ? json::serialize(*answer) : answer.error().message;
}

TEST(ApiClientTest, AnAnswerIsItsJsonOrTheServersWords) {
  const auto get = [](const char* body, int status) {
    KeepingServer server(body, status);
    return Said(ApiClient(server.address(), "").Get("/thing"));
  };
  EXPECT_EQ(get(R"({"a":1})", 200), R"({"a":1})");
  EXPECT_EQ(get("", 200), "null");
  EXPECT_EQ(get("<html>", 200), "/thing answered something that is not JSON; is it InferFlux?");
  EXPECT_EQ(get(R"({"error":{"message":"no"}})", 404), "the server says (404): no");
  EXPECT_EQ(get(R"({"error":"no"})", 404), "the server says (404): no");
  EXPECT_EQ(get(R"({"error":{}})", 404), "the server says (404): the server reported an error without a message");
  EXPECT_EQ(get(R"({"error":1})", 404), "the server answered with status 404 and no message");
  EXPECT_EQ(get("[]", 500), "the server answered with status 500 and no message");
  EXPECT_EQ(get("{", 500), "the server answered with status 500 and no message");
  KeepingServer busy("", 503), wrong("", 404);
  EXPECT_EQ(ApiClient(busy.address(), "").Get("/thing").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(ApiClient(wrong.address(), "").Get("/thing").error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(ApiClient(wrong.address(), "").CheckAnswers()) << "an answer all the same";
  EXPECT_FALSE(ApiClient({"127.0.0.1", 1, ""}, "").CheckAnswers());
}

TEST(ApiClientTest, AnEmptyBodyIsNotSent) {
  KeepingServer server("{}");
  ApiClient client(server.address(), "k");
  ASSERT_TRUE(client.Change("DELETE", "/thing", {}));
  ASSERT_TRUE(client.Post("/thing", {{"a", 1}}));
  EXPECT_THAT(server.asked, ElementsAre("DELETE ", "POST {\"a\":1}"));
  EXPECT_EQ(server.key, "Bearer k");
}

TEST(ApiClientTest, AStreamEndsWithItsMarkOrWithAnError) {
  const auto stream = [](const std::string& body, int status = 200) {
    KeepingServer server(body, status);
    std::string chunks;
    const Status ended = ApiClient(server.address(), "").Stream("/thing", {}, [&](const json::object& chunk) {
      chunks += json::serialize(chunk);
    });
    return chunks + (ended ? "" : ended.error().message);
  };
  EXPECT_EQ(stream("data: {\"a\":1}\n\ndata: 5\n\ndata: {\n\ndata: {\"a\":2}\n\ndata: [DONE]\n\n"),
            R"({"a":1}{"a":2})");
  EXPECT_EQ(stream("data: {\"a\":1}\n\n"), R"({"a":1}the server ended the answer in the middle)");
  EXPECT_EQ(stream("data: {\"error\":{\"message\":\"no\"}}\n\ndata: {\"a\":1}\n\ndata: [DONE]\n\n"),
            "the server says: no");
  EXPECT_EQ(stream("data: {\"error\":{\"message\":\"no\"}}\n\n"), "the server says: no");
  EXPECT_EQ(stream(R"({"error":{"message":"no"}})", 400), "the server says (400): no");
}

TEST(ApiClientTest, ASegmentOfAPathHasNoOtherCharacters) {
  EXPECT_EQ(PathSegment("AZaz09-._~"), "AZaz09-._~");
  EXPECT_EQ(PathSegment("a/b c\xC3\xA4"), "a%2Fb%20c%C3%A4");
}

}  // namespace
}  // namespace inferflux::apps
