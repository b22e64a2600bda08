// Settings of calls: their ranges, which of several wins, and what an engine's errors mean to a program.
#include "dspy/lm/call_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dspy/adapters/llama_cpp_config.h"
#include "dspy/from_engine.h"
#include "dspy/lm/plain_prompt.h"

namespace inferflux::dspy {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

CallSettings All() {
  return {.sampling = {.max_tokens = 1,
                       .temperature = 0.1,
                       .top_p = 0.2,
                       .top_k = 3,
                       .min_p = 0.4,
                       .repeat_penalty = 1.5,
                       .seed = 6,
                       .stop = {"x"}},
          .retries = 7,
          .timeout = milliseconds(8),
          .constrain = Constrain::kOn};
}

void ExpectSame(const CallSettings& a, const CallSettings& b) {
  EXPECT_EQ(a.sampling, b.sampling);
  EXPECT_EQ(a.retries, b.retries);
  EXPECT_EQ(a.timeout, b.timeout);
  EXPECT_EQ(a.constrain, b.constrain);
}

TEST(CallSettingsTest, TheFirstThatIsSetWins) {
  const CallSettings other{.sampling = {.max_tokens = 10,
                                        .temperature = 1.1,
                                        .top_p = 0.9,
                                        .top_k = 30,
                                        .min_p = 0.8,
                                        .repeat_penalty = 2.5,
                                        .seed = 60,
                                        .stop = {"y"}},
                           .retries = 70,
                           .timeout = milliseconds(80),
                           .constrain = Constrain::kOff};
  ExpectSame(Merge(All(), other), All());
  ExpectSame(Merge({}, other), other);
  ExpectSame(Merge(other, {}), other);
}

TEST(CallSettingsTest, EachRangeHoldsItsEnds) {
  struct Row {
    std::function<void(CallSettings&)> set;
    std::string error;
  };
  const auto stops = [](size_t count) {
    return [count](CallSettings& s) { s.sampling.stop = std::vector<std::string>(count, "x"); };
  };
  const std::vector<Row> rows = {
      {[](auto& s) { s.sampling.max_tokens = 1; }, ""},
      {[](auto& s) { s.sampling.max_tokens = 1 << 30; }, ""},
      {[](auto& s) { s.sampling.max_tokens = 0; }, "max_tokens is 0; it must be from 1 to 1073741824"},
      {[](auto& s) { s.sampling.max_tokens = (1 << 30) + 1; },
       "max_tokens is 1073741825; it must be from 1 to 1073741824"},
      {[](auto& s) { s.sampling.temperature = 0.0; }, ""},
      {[](auto& s) { s.sampling.temperature = 2.0; }, ""},
      {[](auto& s) { s.sampling.temperature = -0.5; }, "temperature is -0.5; it must be from 0 to 2"},
      {[](auto& s) { s.sampling.temperature = 2.5; }, "temperature is 2.5; it must be from 0 to 2"},
      {[](auto& s) { s.sampling.top_p = 0.0; }, ""},
      {[](auto& s) { s.sampling.top_p = 1.0; }, ""},
      {[](auto& s) { s.sampling.top_p = -0.5; }, "top_p is -0.5; it must be from 0 to 1"},
      {[](auto& s) { s.sampling.top_p = 1.5; }, "top_p is 1.5; it must be from 0 to 1"},
      {[](auto& s) { s.sampling.top_k = 0; }, ""},
      {[](auto& s) { s.sampling.top_k = 1 << 30; }, ""},
      {[](auto& s) { s.sampling.top_k = -1; }, "top_k is -1; it must be from 0 to 1073741824"},
      {[](auto& s) { s.sampling.top_k = (1 << 30) + 1; }, "top_k is 1073741825; it must be from 0 to 1073741824"},
      {[](auto& s) { s.sampling.min_p = 0.0; }, ""},
      {[](auto& s) { s.sampling.min_p = 1.0; }, ""},
      {[](auto& s) { s.sampling.min_p = -0.5; }, "min_p is -0.5; it must be from 0 to 1"},
      {[](auto& s) { s.sampling.min_p = 1.5; }, "min_p is 1.5; it must be from 0 to 1"},
      {[](auto& s) { s.sampling.repeat_penalty = 0.01; }, ""},
      {[](auto& s) { s.sampling.repeat_penalty = 10.0; }, ""},
      {[](auto& s) { s.sampling.repeat_penalty = 0.0; }, "repeat_penalty is 0; it must be from 0.01 to 10"},
      {[](auto& s) { s.sampling.repeat_penalty = 10.5; }, "repeat_penalty is 10.5; it must be from 0.01 to 10"},
      {[](auto& s) { s.retries = 0; }, ""},
      {[](auto& s) { s.retries = 100; }, ""},
      {[](auto& s) { s.retries = -1; }, "retries is -1; it must be from 0 to 100"},
      {[](auto& s) { s.retries = 101; }, "retries is 101; it must be from 0 to 100"},
      {[](auto& s) { s.timeout = milliseconds(1); }, ""},
      {[](auto& s) { s.timeout = milliseconds(0); }, "timeout is 0 ms; it must be positive"},
      {[](auto& s) { s.timeout = milliseconds(-1); }, "timeout is -1 ms; it must be positive"},
      {stops(64), ""},
      {stops(65), "there are 65 stop strings; at most 64 are taken"},
      {[](auto& s) {
         s.sampling.stop = {"x", ""};
       },
       "a stop string is empty"}};
  for (const Row& row : rows) {
    CallSettings settings;
    row.set(settings);
    const auto checked = Check(settings);
    EXPECT_EQ(checked ? "" : checked.error().message, row.error);
    EXPECT_TRUE(checked || checked.error().code == ErrorCode::kInvalidConfig) << row.error;
  }
  EXPECT_TRUE(Check(All()));
}

TEST(CallSettingsTest, AnAnswerLeavesRoomForItsPrompt) {
  CallSettings settings;
  EXPECT_TRUE(CheckAgainst(settings, {.context = 8}));
  settings.sampling.max_tokens = 8;
  EXPECT_TRUE(CheckAgainst(settings, {}));
  EXPECT_TRUE(CheckAgainst(settings, {.context = 9}));
  const auto refused = CheckAgainst(settings, {.context = 8});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "max_tokens");
  EXPECT_EQ(refused.error().message,
            "max_tokens is 8, and the model was loaded with a context of 8; at most 7 leave room for a prompt");
}

TEST(PlainPromptTest, EachTurnHasItsRole) {
  EXPECT_EQ(AsPlainPrompt(std::vector<Message>{{"system", "s"}, {"user", "u"}, {"assistant", "a"}, {"other", "o"}}),
            "System: s\n\nUser: u\n\nAssistant: a\n\nUser: o\n\nAssistant:");
  LmRequest request{.messages = {{"user", "u"}}, .sampling = {.stop = {"x"}}};
  UseTemplateOrPrompt({.chat_template = true}, request);
  EXPECT_EQ(request.messages.size(), 1u);
  EXPECT_EQ(request.prompt, "");
  EXPECT_THAT(request.sampling.stop, ElementsAre("x"));
  UseTemplateOrPrompt({.chat_template = false}, request);
  EXPECT_EQ(request.messages.size(), 0u);
  EXPECT_EQ(request.prompt, "User: u\n\nAssistant:");
  EXPECT_THAT(request.sampling.stop, ElementsAre("x", "\nUser:", "\nSystem:"));
}

// Each code of an engine, by what was being done.
TEST(FromEngineTest, EachCodeHasItsMeaningAtEachStage) {
  using Engine = inferflux::ErrorCode;
  using enum ErrorCode;
  const std::vector<Stage> stages = {Stage::kFind,     Stage::kLoad,  Stage::kConfigure,
                                     Stage::kTokenize, Stage::kAdmit, Stage::kGenerate};
  const std::vector<std::pair<Engine, std::vector<ErrorCode>>> rows = {
      {Engine::kCancelled, {kCancelled, kCancelled, kCancelled, kCancelled, kCancelled, kCancelled}},
      {Engine::kUnavailable,
       {kBackendError, kBackendError, kBackendError, kBackendError, kBackendError, kBackendError}},
      {Engine::kResourceExhausted,
       {kBackendError, kBackendError, kBackendError, kBackendError, kContextTooLong, kBackendError}},
      {Engine::kNotFound,
       {kModelNotFound, kModelNotFound, kInvalidConfig, kTokenizationFailed, kContextTooLong, kInferenceFailed}},
      {Engine::kInvalidArgument,
       {kModelNotFound, kModelLoadFailed, kInvalidConfig, kTokenizationFailed, kContextTooLong, kInvalidConfig}},
      {Engine::kUnsupported,
       {kModelNotFound, kModelLoadFailed, kInvalidConfig, kTokenizationFailed, kContextTooLong, kInvalidConfig}},
      {Engine::kInternal,
       {kModelNotFound, kModelLoadFailed, kInvalidConfig, kTokenizationFailed, kContextTooLong, kInferenceFailed}}};
  for (const auto& [code, expected] : rows) {
    for (size_t i = 0; i < stages.size(); ++i) {
      const Error error = FromEngine(stages[i], {code, "why"});
      EXPECT_EQ(NameOf(error.code), NameOf(expected[i])) << static_cast<int>(code) << " at stage " << i;
      EXPECT_EQ(error.message, "why");
    }
  }
}

}  // namespace
}  // namespace inferflux::dspy
