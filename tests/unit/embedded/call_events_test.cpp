// Calls on a scheduler in the test's hands: what it is asked, what it answers, and what becomes of its streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <inferflux/engine.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "embedded/embedded_tiny.h"
#include "embedded/language_model.h"
#include "embedded/loaded_model_state.h"
#include "text/reasoning/reasoning_dialect.h"

namespace inferflux::embedded {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

// Answers each request with these texts, and ends it or lets it wait.
class ScriptedScheduler : public scheduler::GenerationService {
 public:
  ScriptedScheduler(std::vector<std::string> texts, bool ends) : texts_(std::move(texts)), ends_(ends) {}

  inferflux::Result<std::shared_ptr<scheduler::TokenStream>> Submit(scheduler::GenerationRequest request) override {
    requests.push_back(std::move(request));
    auto stream = streams.emplace_back(std::make_shared<scheduler::TokenStream>());
    for (const std::string& text : texts_) {
      scheduler::StreamEvent event;
      event.text = text;
      stream->Push(std::move(event));
    }
    if (ends_) {
      scheduler::StreamEvent event;
      event.finish.emplace();
      stream->Push(std::move(event));
    }
    return stream;
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return {}; }

  std::vector<scheduler::GenerationRequest> requests;
  std::vector<std::shared_ptr<scheduler::TokenStream>> streams;

 private:
  std::vector<std::string> texts_;
  bool ends_;
};

using Script = std::shared_ptr<ScriptedScheduler>;

Script Says(std::vector<std::string> texts) { return std::make_shared<ScriptedScheduler>(std::move(texts), true); }

class CallEventsTest : public testing::WithTiny {
 protected:
  static Engine On(const Script& script) {
    return With([&](serving::ServedModel& model) { model.scheduler = script; });
  }
};

TEST_F(CallEventsTest, AModelThatSaysNothingIsNotWaitedForBeyondTheTime) {
  const auto silent = std::make_shared<ScriptedScheduler>(std::vector<std::string>(), false);
  const auto before = steady_clock::now();
  const auto late = On(silent).Generate("Hello", {.timeout = milliseconds(30)});
  const auto after = steady_clock::now();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(late.error().message, "the call's time was over before its answer was complete");
  EXPECT_GE(after - before, milliseconds(30));
  EXPECT_LT(after - before, std::chrono::seconds(20));
  ASSERT_EQ(silent->requests.size(), 1u);
  ASSERT_TRUE(silent->requests[0].deadline) << "the scheduler knows it too";
  EXPECT_GE(*silent->requests[0].deadline, before + milliseconds(30));
  EXPECT_LE(*silent->requests[0].deadline, after);
  EXPECT_TRUE(silent->streams[0]->cancelled());
}

TEST_F(CallEventsTest, AnErrorFreesTheModelAlsoWhereTheStreamIsKept) {
  const auto silent = std::make_shared<ScriptedScheduler>(std::vector<std::string>{"a"}, false);
  std::stop_source stop;
  auto stream = On(silent).Stream("Hello", {.cancel = stop.get_token()});
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->Next()->value_or(""), "a");
  EXPECT_FALSE(silent->streams[0]->cancelled());
  EXPECT_FALSE(silent->requests[0].deadline);
  stop.request_stop();
  EXPECT_EQ(stream->Next().error().message, "the caller cancelled the call");
  EXPECT_TRUE(silent->streams[0]->cancelled());
  EXPECT_EQ(stream->Next().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(stream->reply().text, "a");
}

TEST_F(CallEventsTest, ReasoningIsNoPartOfTheText) {
  const auto script = Says({"<think>why</think>", "be", "cause"});
  const Engine thinks = With([&](serving::ServedModel& model) {
    model.scheduler = script;
    model.reasoning = std::make_shared<const text::ReasoningDialect>(text::ReasoningDialect{
        .reasoning = {.form = &text::ReasoningForms()[0]}, .opening = {}, .closing = {}, .shown = {}});
  });
  const auto reply = thinks.Chat({{"user", "Hello"}});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->text, "because");
  EXPECT_EQ(reply->reasoning, "why");
  EXPECT_EQ(reply->finish, FinishReason::kStop);
}

dspy::LmRequest WithAdd() {
  return {.messages = {{"user", "What is 2 and 2?"}},
          .tools = {{.name = "add", .description = "Adds two numbers.", .parameters = {{"type", "object"}}}}};
}

TEST_F(CallEventsTest, ToolsAreOfferedAsTheTemplateShowsThem) {
  const auto script = Says({"4"});
  ASSERT_TRUE(LanguageModel(On(script))->Generate(WithAdd()));
  std::string prompt;
  const auto& tokenizer = *engine->state()->model->tokenizer;
  for (const auto id : script->requests.at(0).prompt) prompt += tokenizer.Bytes(id, true);
  EXPECT_THAT(prompt, HasSubstr("\"type\": \"function\""));
  EXPECT_THAT(prompt, HasSubstr("\"name\": \"add\""));
  EXPECT_THAT(prompt, HasSubstr("\"description\": \"Adds two numbers.\""));
  EXPECT_THAT(prompt, HasSubstr("\"parameters\": {\"type\": \"object\"}"));
}

TEST_F(CallEventsTest, ACallThatIsNoJsonIsText) {
  const std::string broken = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2 and 2}}\n</tool_call>";
  const auto answer = LanguageModel(On(Says({"So:", broken})))->Generate(WithAdd());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->text, "So:" + broken);
  EXPECT_TRUE(answer->tool_calls.empty());
  EXPECT_EQ(answer->finish, FinishReason::kStop);
}

TEST_F(CallEventsTest, AnEmbeddingMayHaveOneNumber) {
  const Engine one = With([](serving::ServedModel& model) { model.info.embedding.dimensions = 1; });
  const std::vector<std::string> texts = {"the sea"};
  EXPECT_TRUE(one.Embed(texts));
}

TEST(LogLevelTest, OnlyLinesOfTheLevelAndAboveAreWritten) {
  const auto lines = [](LogLevel level) {
    ::testing::internal::CaptureStderr();
    SetLogLevel(level);
    log::Debug("one-debug");
    log::Info("one-info");
    log::Warning("one-warning");
    log::Error("one-error");
    const std::string text = ::testing::internal::GetCapturedStderr();
    std::string out;
    for (const char* word : {"debug", "info", "warning", "error"}) {
      if (text.find(std::string("one-") + word) != std::string::npos) out += std::string(word) + " ";
    }
    return out;
  };
  EXPECT_EQ(lines(LogLevel::kError), "error ");
  EXPECT_EQ(lines(LogLevel::kDebug), "debug info warning error ");
  EXPECT_EQ(lines(LogLevel::kInfo), "info warning error ");
  EXPECT_EQ(lines(LogLevel::kWarning), "warning error ") << "as at first";
}

}  // namespace
}  // namespace inferflux::embedded
