// Programs on a remote model: this project's own server, on a model with scripted answers.
#include "dspy_http/http_adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include "dspy/programs/predict.h"
#include "dspy_http/chat_body.h"
#include "dspy_http/http_lm.h"
#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using dspy::ConnectLm;
using dspy::HttpAdapter;
using dspy::HttpConfig;
using dspy::LmRequest;
using ::testing::HasSubstr;
using Code = dspy::ErrorCode;

constexpr const char* kAnswer = "[[ ## answer ## ]]\n4\n\n[[ ## completed ## ]]";

FakeScheduler::Script InPieces(std::string text) {
  return [text](const GenerationRequest& request, TokenStream& stream) {
    for (size_t at = 0; at < text.size(); at += 5) stream.Push(Piece(text.substr(at, 5)));
    stream.Push(End(FinishReason::kStop, static_cast<int32_t>(request.prompt.size()), 7));
  };
}

HttpConfig ConfigOf(const FakeServer& fake) {
  return {.url = fmt::format("http://127.0.0.1:{}/v1", fake.server->port())};
}

LmRequest Hello() { return {.messages = {{"user", "Hello"}}}; }

std::shared_ptr<dspy::LM> LmOf(const HttpConfig& config) {
  auto lm = ConnectLm(config);
  EXPECT_TRUE(lm) << lm.error().message;
  return *lm;
}

Code CodeOf(const HttpConfig& config, const LmRequest& request) {
  const auto answer = LmOf(config)->Generate(request);
  EXPECT_FALSE(answer);
  return answer ? Code::kParseFailed : answer.error().code;
}

TEST(HttpAdapterTest, AProgramRunsOnARemoteModel) {
  FakeServer fake(InPieces(kAnswer));
  const auto adapter = HttpAdapter::Connect(ConfigOf(fake));
  ASSERT_TRUE(adapter) << adapter.error().message;
  const dspy::Predict program(*dspy::Signature::Parse("question -> answer: int"));
  const auto prediction = program.Call({{"question", "What is 2+2?"}}, {.adapter = *adapter});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(prediction->Int("answer"), 4);
  const auto prompt = fake.scheduler->requests().at(0).prompt;
  EXPECT_EQ(prediction->usage().prompt, prompt.size());
  EXPECT_EQ(prediction->usage().completion, 7u);
  EXPECT_THAT(std::string(prompt.begin(), prompt.end()), HasSubstr("[[ ## question ## ]]\nWhat is 2+2?"));
  EXPECT_NE(fake.scheduler->requests().at(0).grammar, nullptr) << "the answer is constrained to what parses";
}

TEST(HttpAdapterTest, AStreamHandsOutTheFieldAsItGrows) {
  FakeServer fake(InPieces("[[ ## story ## ]]\nOnce upon a time there was a server.\n\n[[ ## completed ## ]]"));
  const auto adapter = HttpAdapter::Connect(ConfigOf(fake));
  ASSERT_TRUE(adapter);
  const dspy::Predict program(*dspy::Signature::Parse("topic -> story"));
  std::string grown;
  const auto prediction = program.Stream(
      {{"topic", "servers"}}, [&](const dspy::FieldDelta& delta) { grown += delta.text; }, {.adapter = *adapter});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(grown, "Once upon a time there was a server.");
  EXPECT_GT(prediction->usage().prompt, 0u) << "a stream brings its usage";
}

TEST(HttpAdapterTest, SettingsReachTheServer) {
  FakeServer fake(InPieces("x"));
  LmRequest request = Hello();
  request.sampling = {
      .max_tokens = 5, .temperature = 0.5, .top_k = 3, .repeat_penalty = 1.25, .seed = 7, .stop = {"z"}};
  const auto answer = LmOf(ConfigOf(fake))->Generate(request);
  ASSERT_TRUE(answer) << answer.error().message;
  const GenerationRequest got = fake.scheduler->requests().at(0);
  EXPECT_EQ(got.max_tokens, 5);
  EXPECT_EQ(got.sampling.temperature, 0.5f);
  EXPECT_EQ(got.sampling.top_k, 3);
  EXPECT_EQ(got.sampling.repetition_penalty, 1.25f);
  EXPECT_EQ(got.sampling.seed, 7u);
  EXPECT_EQ(got.stop, std::vector<std::string>{"z"});
}

TEST(HttpAdapterTest, ACallOfAToolIsRead) {
  FakeServer fake(InPieces("<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2}}\n</tool_call>"));
  LmRequest request = Hello();
  request.tools = {{.name = "add", .description = "adds", .parameters = {{"type", "object"}}}};
  const auto answer = LmOf(ConfigOf(fake))->Generate(request);
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(answer->tool_calls.size(), 1u) << answer->text;
  EXPECT_EQ(answer->tool_calls[0].name, "add");
  EXPECT_EQ(answer->tool_calls[0].arguments.at("a"), 2);
  EXPECT_EQ(answer->finish, dspy::FinishReason::kToolCalls);
  const auto prompt = fake.scheduler->requests().at(0).prompt;
  EXPECT_THAT(std::string(prompt.begin(), prompt.end()), HasSubstr("[1 tools]"));
}

TEST(HttpAdapterTest, AnAnswerThatWasCutSaysSo) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece("Once"));
    stream.Push(End(FinishReason::kLength, 3, 1));
  });
  LmRequest request = Hello();
  for (const bool streams : {false, true}) {
    if (streams) request.on_text = [](std::string_view) {};
    const auto answer = LmOf(ConfigOf(fake))->Generate(request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->finish, dspy::FinishReason::kLength) << (streams ? "streamed" : "whole");
  }
}

TEST(HttpAdapterTest, EachRefusalHasItsCode) {
  FakeServer fake(InPieces("x"));
  HttpConfig config = ConfigOf(fake);
  LmRequest long_prompt = Hello();
  long_prompt.messages[0].content = std::string(5000, 'a');
  EXPECT_EQ(CodeOf(config, long_prompt), Code::kContextTooLong);
  LmRequest hot = Hello();
  hot.sampling.temperature = 99;
  EXPECT_EQ(CodeOf(config, hot), Code::kInvalidConfig);
  fake.scheduler->refusal = Error{ErrorCode::kUnavailable, "full"};
  EXPECT_EQ(CodeOf(config, Hello()), Code::kBackendError);
  config.model = "other";
  EXPECT_EQ(CodeOf(config, Hello()), Code::kModelNotFound);
  config.url = "http://127.0.0.1:1/v1";
  EXPECT_EQ(CodeOf(config, Hello()), Code::kBackendError);
}

TEST(HttpAdapterTest, EachStatusHasItsCodeAndOnlyAKeyIsBlamedForAKey) {
  struct Row {
    int status;
    Code code;
    std::string field;
  };
  for (const Row& row : {Row{400, Code::kInvalidConfig, "top_k"}, Row{401, Code::kInvalidConfig, "api_key"},
                         Row{402, Code::kInvalidConfig, "top_k"}, Row{403, Code::kInvalidConfig, "api_key"},
                         Row{404, Code::kInvalidConfig, "top_k"}, Row{408, Code::kTimeout, "top_k"},
                         Row{429, Code::kBackendError, "top_k"}, Row{499, Code::kInvalidConfig, "top_k"},
                         Row{500, Code::kInferenceFailed, "top_k"}, Row{502, Code::kBackendError, "top_k"},
                         Row{503, Code::kBackendError, "top_k"}, Row{504, Code::kTimeout, "top_k"}}) {
    const auto error = dspy::ReadRefusal(row.status, R"({"error":{"message":"no","param":"top_k"}})");
    EXPECT_EQ(error.code, row.code) << row.status;
    EXPECT_EQ(error.field, row.field) << row.status;
    EXPECT_EQ(error.message, fmt::format("the server answered {}: no", row.status));
  }
  EXPECT_EQ(dspy::ReadRefusal(404, R"({"error":{"code":"model_not_found"}})").code, Code::kModelNotFound);
  EXPECT_EQ(dspy::ReadRefusal(400, R"({"error":{"code":"context_length_exceeded"}})").code, Code::kContextTooLong);
  EXPECT_THAT(dspy::ReadRefusal(502, "<h1>gateway</h1>").message, HasSubstr("<h1>gateway"));
}

TEST(HttpAdapterTest, AWrongUrlIsNamedBeforeAnythingIsSent) {
  for (const char* url : {"http://", "ftp://x", "http://x:0"}) {
    const auto adapter = HttpAdapter::Connect({.url = url});
    ASSERT_FALSE(adapter) << url;
    EXPECT_EQ(adapter.error().code, Code::kInvalidConfig) << url;
    EXPECT_EQ(adapter.error().field, "url") << url;
  }
  EXPECT_EQ(HttpAdapter::Connect({.api_key = "a\r\nb"}).error().field, "api_key");
}

TEST(HttpAdapterTest, ACallEndsAtItsDeadlineAndWhenItIsCancelled) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    stream.Push(End(FinishReason::kStop, 1, 1));
  });
  LmRequest late = Hello();
  late.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  EXPECT_EQ(CodeOf(ConfigOf(fake), late), Code::kTimeout);
  std::stop_source stop;
  LmRequest cancelled = Hello();
  cancelled.cancel = stop.get_token();
  stop.request_stop();
  EXPECT_EQ(CodeOf(ConfigOf(fake), cancelled), Code::kCancelled);
}

}  // namespace
}  // namespace inferflux::testing
