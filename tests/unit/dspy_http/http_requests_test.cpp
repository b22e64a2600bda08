// The requests that a client sends, whole, and answers with parts that are missing, wrong or too long.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "dspy_http/chat_body.h"
#include "dspy_http/http_adapter.h"
#include "dspy_http/http_lm.h"
#include "net/http_message.h"
#include "net/server.h"

namespace inferflux::dspy {
namespace {

namespace json = boost::json;

constexpr const char* kWhole =
    R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}})";

// Answers each chat with the same text, and keeps the last request's body.
struct KeepingServer {
  explicit KeepingServer(std::string text) {
    net::Router router;
    router.Add("POST", "/v1/chat/completions",
               [this, text](const net::Request& request, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
                 body = json::parse(std::string_view(request.body));
                 co_await writer.Send({200, "application/json", text});
               });
    auto started = net::Server::Start({}, std::move(router));
    EXPECT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  HttpConfig config() const { return {.url = fmt::format("http://127.0.0.1:{}/v1", server->port())}; }

  json::value body;
  std::unique_ptr<net::Server> server;
};

TEST(HttpRequestsTest, AnAnswerThatMayCallToolsIsReadWhole) {
  KeepingServer server(kWhole);
  std::string streamed;
  LmRequest request{.messages = {{"user", "Hello"}},
                    .tools = {{.name = "add", .description = "adds", .parameters = {{"type", "object"}}}},
                    .on_text = [&](std::string_view text) { streamed += text; }};
  const auto lm = *ConnectLm(server.config());
  const auto answer = lm->Generate(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(streamed, "Hi");
  EXPECT_EQ(server.body, json::parse(R"({"messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"function",
      "function":{"name":"add","description":"adds","parameters":{"type":"object"}}}]})"));
  request.on_text = nullptr;
  request.tools.clear();
  EXPECT_EQ(lm->Generate(request)->text, "Hi");
  EXPECT_EQ(server.body, json::parse(R"({"messages":[{"role":"user","content":"Hello"}]})"));
}

TEST(HttpRequestsTest, AModelHasTheTraitsOfItsSettings) {
  const auto traits = [](bool constraints, bool chat_template) {
    const auto lm = ConnectLm({.constraints = constraints, .chat_template = chat_template});
    const LmTraits all = (*lm)->traits();
    return std::vector<bool>{all.chat_template, all.constraints, all.tools};
  };
  EXPECT_EQ(traits(true, true), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(traits(false, true), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(traits(true, false), (std::vector<bool>{false, true, false}));
  EXPECT_EQ((*ConnectLm({}))->name(), "default");
  EXPECT_EQ((*ConnectLm({.model = "m"}))->name(), "m");
}

TEST(HttpRequestsTest, AnAdaptersSettingsAreCheckedAndKept) {
  EXPECT_EQ(HttpAdapter::Connect({.call = {.retries = -1}}).error().field, "retries");
  const auto adapter = HttpAdapter::Connect({.model = "m", .call = {.retries = 3}});
  ASSERT_TRUE(adapter) << adapter.error().message;
  EXPECT_EQ((*adapter)->defaults().retries, 3);
  EXPECT_EQ((*adapter)->lm()->name(), "m");
  EXPECT_EQ((*adapter)->name(), "HttpAdapter");
  const auto wrong = HttpAdapter::Connect({.api_key = "a\nb"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "the API key has a line break");
  EXPECT_EQ(HttpAdapter::Connect({.api_key = "a\rb"}).error().field, "api_key");
}

TEST(HttpRequestsTest, AFailureSaysWhoseItIs) {
  const HttpConfig config{.url = "http://127.0.0.1:1/v1"};
  const auto lm = *ConnectLm(config);
  LmRequest request{.messages = {{"user", "Hello"}}};
  EXPECT_THAT(lm->Generate(request).error().message, ::testing::StartsWith("http://127.0.0.1:1/v1: "));
  request.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  EXPECT_EQ(lm->Generate(request).error().code, ErrorCode::kBackendError) << "there is time left";
  request.deadline = std::chrono::steady_clock::now();
  const auto late = lm->Generate(request);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(late.error().message, "the call's time was over before its answer was complete");
  std::stop_source stop;
  stop.request_stop();
  request.cancel = stop.get_token();
  const auto cancelled = lm->Generate(request);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(cancelled.error().message, "the caller cancelled the call");
}

TEST(ChatBodyEdgesTest, ASchemaThatIsNoJsonIsLeftToTheServer) {
  LmRequest request{.prompt = "p", .constraint = Constraint{.kind = Constraint::Kind::kJsonSchema, .source = "{"}};
  EXPECT_EQ(json::value(RequestBody(request, {}, false)),
            json::parse(R"({"prompt":"p","response_format":{"type":"json_schema",
                "json_schema":{"name":"answer","schema":{},"strict":true}}})"));
}

TEST(ChatBodyEdgesTest, CountsAreNumbersAboveZero) {
  const auto usage = [](const std::string& text) {
    const auto answer = ReadAnswer(R"({"choices":[{"text":"x"}],"usage":)" + text + "}");
    const Usage& read = answer->usage;
    return std::vector<uint64_t>{read.prompt, read.cached, read.completion};
  };
  using Counts = std::vector<uint64_t>;
  EXPECT_EQ(usage(R"({"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}})"),
            (Counts{1, 1, 2}));
  EXPECT_EQ(usage(R"({"prompt_tokens":"1","completion_tokens":2.5,"prompt_tokens_details":3})"), (Counts{0, 0, 0}));
  EXPECT_EQ(usage(R"({"prompt_tokens":0,"completion_tokens":-1,"prompt_tokens_details":null})"), (Counts{0, 0, 0}));
  EXPECT_EQ(usage("null"), (Counts{0, 0, 0}));
  EXPECT_EQ(usage("[1]"), (Counts{0, 0, 0}));
}

TEST(ChatBodyEdgesTest, PartsOfAnotherTypeAreNotThere) {
  const auto text = [](const std::string& choice) { return ReadAnswer("{\"choices\":[" + choice + "]}")->text; };
  EXPECT_EQ(text(R"({"message":{"content":null},"text":"t"})"), "");
  EXPECT_EQ(text(R"({"message":{"content":1}})"), "");
  EXPECT_EQ(text(R"({"text":["t"]})"), "");
  EXPECT_EQ(text("1"), "");
  EXPECT_EQ(ReadAnswer(R"({"choices":[{"message":{"tool_calls":{}}}]})")->tool_calls.size(), 0u);
  EXPECT_EQ(ReadAnswer(R"({"choices":[{"finish_reason":"tool_calls"}]})")->finish, FinishReason::kToolCalls);
  EXPECT_EQ(ReadAnswer(R"({"choices":[{"finish_reason":"odd"}]})")->finish, FinishReason::kStop);
  LmResponse out;
  EXPECT_EQ(AddEvent(R"({"choices":[{"delta":{"content":1},"text":"t"}]})", out), "");
  EXPECT_EQ(AddEvent(R"({"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":9}})", out), "a");
  EXPECT_EQ(AddEvent(R"({"choices":[{"text":"b","finish_reason":"tool_calls"}]})", out), "b");
  EXPECT_EQ(out.text, "ab");
  EXPECT_EQ(out.usage.completion, 9u) << "an event without a usage leaves it";
  EXPECT_EQ(out.finish, FinishReason::kToolCalls);
}

TEST(ChatBodyEdgesTest, WhatIsLongIsQuotedUpTo300Bytes) {
  const std::string most = "ab" + std::string(297, '#') + "c";
  const std::string none = "the server's answer is none of OpenAI's API: ";
  LmResponse out;
  EXPECT_EQ(ReadAnswer(most + "x").error().message, none + most);
  EXPECT_EQ(AddEvent(most + "x", out).error().message, none + most);
  EXPECT_EQ(ReadRefusal(500, most + "x").message, "the server answered 500: " + most);
  EXPECT_EQ(ReadRefusal(500, "{\"error\":{\"message\":\"" + most + "x\"}}").message,
            "the server answered 500: " + most + "x")
      << "what it says is whole";
  const auto call = [](const std::string& arguments) {
    return ReadAnswer(R"({"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":")" + arguments +
                      "\"}}]}}]}");
  };
  EXPECT_EQ(call(most + "x").error().message,
            "the model called the tool 'f' with arguments that are no JSON object: " + most);
  EXPECT_EQ(call("").error().code, ErrorCode::kParseFailed);
  EXPECT_EQ(AddEvent(R"({"error":1})", out).error().message, "the server ended its answer with an error: ");
}

TEST(ChatBodyEdgesTest, EachRefusalIsReadWithItsField) {
  struct Row {
    int status;
    const char* code;
    ErrorCode expected;
    const char* field;
  };
  for (const Row& row :
       {Row{404, "model_not_found", ErrorCode::kModelNotFound, "p"}, Row{404, "x", ErrorCode::kInvalidConfig, "p"},
        Row{400, "model_not_found", ErrorCode::kInvalidConfig, "p"},
        Row{500, "context_length_exceeded", ErrorCode::kContextTooLong, "p"},
        Row{501, "x", ErrorCode::kInferenceFailed, "p"}, Row{505, "x", ErrorCode::kInferenceFailed, "p"},
        Row{409, "x", ErrorCode::kInvalidConfig, "p"}, Row{405, "x", ErrorCode::kInvalidConfig, "p"},
        Row{430, "x", ErrorCode::kInvalidConfig, "p"}, Row{401, "x", ErrorCode::kInvalidConfig, "api_key"},
        Row{403, "context_length_exceeded", ErrorCode::kContextTooLong, "api_key"}}) {
    const Error error =
        ReadRefusal(row.status, fmt::format(R"({{"error":{{"code":"{}","message":"m","param":"p"}}}})", row.code));
    EXPECT_EQ(NameOf(error.code), NameOf(row.expected)) << row.status << " " << row.code;
    EXPECT_EQ(error.field, row.field) << row.status << " " << row.code;
  }
  EXPECT_EQ(ReadRefusal(500, "[]").message, "the server answered 500: []");
  EXPECT_EQ(ReadRefusal(500, "{").field, "");
}

}  // namespace
}  // namespace inferflux::dspy
