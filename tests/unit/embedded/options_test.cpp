// Options of loads and calls as the floors below get them, and their errors word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "embedded/build_call.h"
#include "embedded/call_error.h"
#include "embedded/call_events.h"
#include "embedded/embedded_tiny.h"
#include "embedded/load_request.h"

namespace inferflux::embedded {
namespace {

using ::testing::ElementsAre;

std::string LoadError(const std::function<void(LoadOptions&)>& set) {
  LoadOptions options;
  set(options);
  const auto request = ToLoadRequest("id", "path", options);
  return request ? "" : request.error().field + ": " + request.error().message;
}

TEST(LoadRequestTest, EachOptionsRangeHoldsItsEnds) {
  for (const int64_t good : {1, 1 << 30}) {
    EXPECT_EQ(LoadError([&](auto& o) { o.context = good; }), "");
    EXPECT_EQ(LoadError([&](auto& o) { o.batch = good; }), "");
  }
  for (const int64_t wrong : {0, (1 << 30) + 1}) {
    const std::string is = " is " + std::to_string(wrong) + "; it must be from 1 to 1073741824";
    EXPECT_EQ(LoadError([&](auto& o) { o.context = wrong; }), "context: context" + is);
    EXPECT_EQ(LoadError([&](auto& o) { o.batch = wrong; }), "batch: batch" + is);
  }
  for (const int64_t good : {-1, 1 << 20}) EXPECT_EQ(LoadError([&](auto& o) { o.gpu_layers = good; }), "");
  for (const int64_t wrong : {-2, (1 << 20) + 1}) {
    EXPECT_EQ(LoadError([&](auto& o) { o.gpu_layers = wrong; }),
              "gpu_layers: gpu_layers is " + std::to_string(wrong) + "; it must be from -1 to 1048576");
  }
  for (const int64_t good : {int64_t{0}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(LoadError([&](auto& o) { o.kv_budget = good; }), "");
  }
  EXPECT_EQ(LoadError([](auto& o) { o.kv_budget = -1; }),
            "kv_budget: kv_budget is -1; it must be from 0 to 9223372036854775807");
  for (const char* type : {"fp32", "fp16", "bf16", "int8", "fp8"}) {
    EXPECT_EQ(LoadError([&](auto& o) { o.kv_dtype = type; }), "");
  }
  EXPECT_EQ(LoadError([](auto& o) { o.kv_dtype = "fp7"; }),
            "kv_dtype: kv_dtype is 'fp7'; it must be one of fp32, fp16, bf16, int8, fp8");
  EXPECT_EQ(LoadError([](auto& o) { o.backend = "native_cpu,cpu", o.gpu_layers = 3; }), "")
      << "one of several may leave a setting unused";
}

TEST(LoadRequestTest, EachOptionIsHandedOn) {
  const auto all = ToLoadRequest("id", "path",
                                 {.context = 5,
                                  .batch = 6,
                                  .gpu_layers = 7,
                                  .backend = "cpu,cuda",
                                  .kv_dtype = "int8",
                                  .kv_budget = 8,
                                  .draft = "small"});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->id, "id");
  EXPECT_EQ(all->path, "path");
  EXPECT_EQ(all->requested_backend, "cpu,cuda");
  EXPECT_EQ(all->context, 5);
  EXPECT_EQ(all->max_batch_tokens, 6);
  EXPECT_EQ(all->config.gpu_layers, 7);
  EXPECT_EQ(all->config.kv_dtype, "int8");
  EXPECT_EQ(all->config.kv_budget, 8);
  EXPECT_EQ(all->draft, "small");
  const auto none = ToLoadRequest("id", "path", {});
  EXPECT_EQ(none->requested_backend, "auto");
  EXPECT_EQ(none->context, 0);
  EXPECT_EQ(none->max_batch_tokens, 0);
  EXPECT_FALSE(none->config.gpu_layers || none->config.kv_dtype || none->config.kv_budget);
}

TEST(LoadRequestTest, AnotherLoadOfTheModelNamesTheOptionThatDiffers) {
  const LoadOptions loaded{
      .context = 1, .batch = 2, .gpu_layers = 3, .backend = "cpu", .kv_dtype = "fp16", .kv_budget = 4, .draft = "d"};
  const auto said = [&](const std::function<void(LoadOptions&)>& change, LoadOptions asked) {
    change(asked);
    const auto same = CheckSameLoad("m", asked, loaded);
    return same ? std::string() : same.error().field + ": " + same.error().message;
  };
  const auto nothing = [](LoadOptions&) {};
  EXPECT_EQ(said(nothing, loaded), "");
  EXPECT_EQ(said(nothing, {}), "") << "what is not asked for is the same";
  const std::vector<std::pair<const char*, std::function<void(LoadOptions&)>>> changes = {
      {"context", [](auto& o) { o.context = 9; }},       {"batch", [](auto& o) { o.batch = 9; }},
      {"gpu_layers", [](auto& o) { o.gpu_layers = 9; }}, {"kv_dtype", [](auto& o) { o.kv_dtype = "fp8"; }},
      {"kv_budget", [](auto& o) { o.kv_budget = 9; }},   {"backend", [](auto& o) { o.backend = "cuda"; }},
      {"draft", [](auto& o) { o.draft = "e"; }}};
  for (const auto& [name, change] : changes) {
    const std::string message = std::string(name) + ": the model 'm' is loaded with another " + name +
                                "; unload it first, or leave the option out";
    EXPECT_EQ(said(change, loaded), message);
    EXPECT_EQ(said(change, {}), message);
  }
  EXPECT_EQ(CheckSameLoad("m", {.context = 1}, {}).error().field, "context") << "it was loaded without one";
}

TEST(CallOptionsTest, ACallsDeadlineIsItsTimeoutFromNow) {
  EXPECT_FALSE(LimitsOf({}).deadline);
  std::stop_source stop;
  const auto before = std::chrono::steady_clock::now();
  const CallLimits limits = LimitsOf({.cancel = stop.get_token(), .timeout = std::chrono::milliseconds(5000)});
  EXPECT_TRUE(limits.cancel.stop_possible());
  ASSERT_TRUE(limits.deadline);
  EXPECT_GE(*limits.deadline - before, std::chrono::seconds(5));
  EXPECT_LT(*limits.deadline - before, std::chrono::seconds(60));
}

TEST(CallOptionsTest, MessagesKeepTheirOrderAndRoles) {
  const std::vector<Message> messages = {{"system", "s"}, {"user", "u"}};
  EXPECT_THAT(ToChat(messages).messages, ElementsAre(boost::json::object{{"role", "system"}, {"content", "s"}},
                                                     boost::json::object{{"role", "user"}, {"content", "u"}}));
}

using CallOptionsOfTinyTest = testing::WithTiny;

TEST_F(CallOptionsOfTinyTest, EachSettingReachesTheScheduler) {
  const GenerateOptions options{.sampling = {.max_tokens = 5,
                                             .temperature = 0.5,
                                             .top_p = 0.25,
                                             .top_k = 3,
                                             .min_p = 0.125,
                                             .repeat_penalty = 1.25,
                                             .seed = 7,
                                             .stop = {"x", "y"}},
                                .ignore_eos = true};
  const auto call = BuildCall(*engine->state(), serving::RawPrompt("Hello"), options);
  ASSERT_TRUE(call) << call.error().message;
  ASSERT_EQ(call->requests.size(), 1u);
  const scheduler::GenerationRequest& request = call->requests[0];
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_EQ(request.sampling.temperature, 0.5f);
  EXPECT_EQ(request.sampling.top_p, 0.25f);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_EQ(request.sampling.min_p, 0.125f);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.25f);
  EXPECT_EQ(request.sampling.seed, 7u);
  EXPECT_THAT(request.stop, ElementsAre("x", "y"));
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(request.grammar, nullptr);
  EXPECT_FALSE(BuildCall(*engine->state(), serving::RawPrompt("Hello"), {})->requests[0].ignore_eos);
}

TEST_F(CallOptionsOfTinyTest, EachKindOfConstraintIsReadAsItself) {
  using Kind = Constraint::Kind;
  const auto reply = [](Kind kind, const char* source) {
    GenerateOptions options = testing::Greedy();
    options.constraint = Constraint{.kind = kind, .source = source};
    const auto made = engine->Generate("Hello", options);
    return made ? made->text : made.error().message;
  };
  EXPECT_EQ(reply(Kind::kRegex, "[x]y"), "xy");
  EXPECT_EQ(reply(Kind::kGbnf, "root ::= \"zz\""), "zz");
  EXPECT_EQ(reply(Kind::kJsonSchema, R"({"const": 12})"), "12");
}

TEST_F(CallOptionsOfTinyTest, StopsAndTokensAreCheckedAgainstTheLoad) {
  const auto field = [](const GenerateOptions& options, const LoadOptions& load) {
    const auto checked = CheckOptions(options, load);
    return checked ? std::string() : checked.error().field;
  };
  EXPECT_EQ(field({.sampling = {.max_tokens = 8, .stop = {"ä", "b"}}}, {.context = 9}), "");
  EXPECT_EQ(field({.sampling = {.max_tokens = 8}}, {.context = 8}), "max_tokens");
  EXPECT_EQ(field({.sampling = {.stop = {"a", "\xff"}}}, {}), "stop");
  EXPECT_EQ(field({.timeout = std::chrono::milliseconds(0)}, {}), "timeout");
}

TEST(CallErrorsTest, AGenerationsErrorsNameTheProgramsFields) {
  using Field = serving::GenerationError::Field;
  using Kind = serving::GenerationError::Kind;
  struct Row {
    Kind kind;
    Field field;
    ErrorCode code;
    const char* name;
  };
  for (const Row& row : {Row{Kind::kInvalid, Field::kPrompt, ErrorCode::kTokenizationFailed, "prompt"},
                         Row{Kind::kInvalid, Field::kModel, ErrorCode::kInvalidConfig, "model"},
                         Row{Kind::kInvalid, Field::kGrammar, ErrorCode::kInvalidConfig, "constraint"},
                         Row{Kind::kInvalid, Field::kTools, ErrorCode::kInvalidConfig, "tools"},
                         Row{Kind::kInvalid, Field::kStrictTool, ErrorCode::kInvalidConfig, "tools"},
                         Row{Kind::kInvalid, Field::kToolChoice, ErrorCode::kInvalidConfig, "tools"},
                         Row{Kind::kInvalid, Field::kParallelCalls, ErrorCode::kInvalidConfig, "tools"},
                         Row{Kind::kInvalid, Field::kLogitBias, ErrorCode::kInvalidConfig, ""},
                         Row{Kind::kUnsupported, Field::kPrompt, ErrorCode::kInvalidConfig, "prompt"},
                         Row{Kind::kTemplate, Field::kPrompt, ErrorCode::kTokenizationFailed, "prompt"},
                         Row{Kind::kNoChatTemplate, Field::kPrompt, ErrorCode::kInvalidConfig, "prompt"},
                         Row{Kind::kContextLength, Field::kPrompt, ErrorCode::kContextTooLong, "prompt"}}) {
    const Error error = OfGeneration({.kind = row.kind, .field = row.field, .message = "is odd"});
    EXPECT_EQ(NameOf(error.code), NameOf(row.code));
    EXPECT_EQ(error.field, row.name);
  }
  EXPECT_EQ(OfGeneration({.field = Field::kGrammar, .message = "is odd"}).message, "the grammar is odd");
}

TEST(CallErrorsTest, ARefusalAndAnEndSayWhatTheyMean) {
  using Engine = inferflux::ErrorCode;
  EXPECT_EQ(OfSubmit({Engine::kInvalidArgument, "long"}).code, ErrorCode::kContextTooLong);
  EXPECT_EQ(OfSubmit({Engine::kResourceExhausted, "full"}).code, ErrorCode::kBackendError);
  EXPECT_EQ(OfSubmit({Engine::kInternal, "odd"}).code, ErrorCode::kInferenceFailed);
  EXPECT_EQ(OfLoad({Engine::kDataLoss, "broken"}).code, ErrorCode::kModelLoadFailed);
  using scheduler::FinishReason;
  const auto end = [](FinishReason reason, Engine code, bool late) {
    const auto checked = CheckFinish({.reason = reason, .error = {code, "why"}}, late);
    return checked ? "" : std::string(NameOf(checked.error().code)) + ": " + checked.error().message;
  };
  EXPECT_EQ(end(FinishReason::kStop, Engine::kInternal, true), "");
  EXPECT_EQ(end(FinishReason::kLength, Engine::kInternal, true), "");
  EXPECT_EQ(end(FinishReason::kCancelled, Engine::kInternal, false),
            "BackendError: the model was unloaded during the call");
  EXPECT_EQ(end(FinishReason::kError, Engine::kResourceExhausted, true), "Timeout: why");
  EXPECT_EQ(end(FinishReason::kError, Engine::kResourceExhausted, false), "BackendError: why");
  EXPECT_EQ(end(FinishReason::kError, Engine::kInternal, true), "InferenceFailed: why");
}

}  // namespace
}  // namespace inferflux::embedded
