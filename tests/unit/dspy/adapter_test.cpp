#include "dspy/adapters/adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/llama_cpp_adapter.h"
#include "dspy/from_engine.h"
#include "dspy/programs/predict.h"
#include "dspy/python/python_format.h"
#include "dspy/scripted_lm.h"

namespace inferflux::dspy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScriptedLm;

const Signature& Arithmetic() {
  static const Signature signature = *Signature::Parse("question -> answer: int");
  return signature;
}

TEST(LlamaCppAdapterTest, WritesNamesAndValues) {
  const auto signature = SignatureBuilder()
                             .Instruction("Answer the question.")
                             .Input("question")
                             .Input("context", FieldType::List(FieldType::Str()), "what is known")
                             .Output("why")
                             .Output("answer", FieldType::Int())
                             .Build();
  const std::vector<Example> demos = {
      Example({{"question", "1+1"}, {"context", {"a", "b"}}, {"why", "sum"}, {"answer", 2}}),
      Example({{"question", "incomplete"}, {"answer", 3}})};
  const auto messages = LlamaCppAdapter().Format(*signature, demos, {{"question", "2+2"}, {"context", {"c"}}});
  EXPECT_THAT(
      messages,
      ElementsAre(Message{"system", "Answer the question.\n\ncontext (list[str]): what is known\nanswer (int)"},
                  Message{"user", "question: incomplete"}, Message{"assistant", "answer: 3"},
                  Message{"user", "question: 1+1\ncontext: [\"a\", \"b\"]"},
                  Message{"assistant", "why: sum\nanswer: 2"}, Message{"user", "question: 2+2\ncontext: [\"c\"]"}));
}

TEST(LlamaCppAdapterTest, WritesTurnsWhereThereIsNoTemplate) {
  ScriptedLm lm({" answer: 4"}, {.chat_template = false});
  const CallOptions options{.demos = {Example({{"question", "1+1"}, {"answer", 2}})}};
  const auto prediction = LlamaCppAdapter().Call(lm, Arithmetic(), {{"question", "2+2"}}, options);
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(*prediction->Int("answer"), 4);
  const LmRequest& request = lm.requests()[0];
  EXPECT_TRUE(request.messages.empty());
  EXPECT_EQ(request.prompt,
            "System: Given the fields `question`, produce the fields `answer`.\n\nanswer (int)\n\n"
            "User: question: 1+1\n\nAssistant: answer: 2\n\nUser: question: 2+2\n\nAssistant:");
  EXPECT_THAT(request.sampling.stop, ElementsAre("\nUser:", "\nSystem:"));
}

TEST(AdapterTest, AnswersAreReadInThreeSteps) {
  const LlamaCppAdapter plain;
  const ChatAdapter chat;
  const JSONAdapter json;
  for (const Adapter* adapter :
       {static_cast<const Adapter*>(&plain), static_cast<const Adapter*>(&chat), static_cast<const Adapter*>(&json)}) {
    for (const char* text : {"{\"answer\": 4}", "```json\n{\"answer\": 4}\n```", "The JSON is {'answer': '4'}.", "4",
                             " 4\n", "```\n4\n```"}) {
      const auto values = adapter->ParseResponse(Arithmetic(), text);
      ASSERT_TRUE(values) << adapter->name() << " of " << text << ": " << values.error().message;
      EXPECT_EQ(JsonDumps(*values), R"({"answer": 4})") << adapter->name() << " of " << text;
    }
    for (const char* text : {"", "four", "{\"answer\": \"four\"}"}) {
      const auto values = adapter->ParseResponse(Arithmetic(), text);
      ASSERT_FALSE(values) << adapter->name() << " of " << text;
      EXPECT_EQ(values.error().code, ErrorCode::kParseFailed);
      EXPECT_EQ(values.error().field, "answer");
      EXPECT_THAT(values.error().message, HasSubstr("int"));
    }
  }
  for (const char* text : {"answer: 4", "Answer: 4", "Sure.\nANSWER:4\n", "answer:\n4"}) {
    EXPECT_TRUE(plain.ParseResponse(Arithmetic(), text)) << text;
  }
  EXPECT_TRUE(json.ParseResponse(Arithmetic(), "[[ ## answer ## ]]\n4"));
}

TEST(AdapterTest, LongLinesOfWhiteSpaceAreReadInOnePass) {
  const std::string answer = "answer:" + std::string(1 << 21, ' ') + "\n" + std::string(1 << 21, ' ') + "4";
  EXPECT_TRUE(LlamaCppAdapter().ParseResponse(Arithmetic(), answer));
}

TEST(AdapterTest, MissingFieldsAreNamed) {
  const auto signature = Signature::Parse("q -> a, n: int, o: Optional[str]");
  for (const char* text : {"a: x", "[[ ## a ## ]]\nx", "{\"a\": \"x\"}"}) {
    const LlamaCppAdapter plain;
    const ChatAdapter chat;
    const JSONAdapter json;
    for (const Adapter* adapter : {static_cast<const Adapter*>(&plain), static_cast<const Adapter*>(&chat),
                                   static_cast<const Adapter*>(&json)}) {
      const auto values = adapter->ParseResponse(*signature, text);
      ASSERT_FALSE(values);
      EXPECT_THAT(values.error().message, HasSubstr("'n' (int)"));
      EXPECT_THAT(values.error().message, HasSubstr(std::string(text).substr(0, 3)));
    }
  }
  const auto values = LlamaCppAdapter().ParseResponse(*signature, "a: one\ntwo\nn: 3");
  ASSERT_TRUE(values);
  EXPECT_EQ(JsonDumps(*values), R"({"a": "one\ntwo", "n": 3, "o": null})");
}

TEST(AdapterTest, BadInputsAreNamedBeforeAnythingRuns) {
  ScriptedLm lm;
  const auto missing = ChatAdapter().Call(lm, Arithmetic(), {}, {});
  const auto wrong = ChatAdapter().Call(lm, Arithmetic(), {{"question", 4}}, {});
  const auto unknown = ChatAdapter().Call(lm, Arithmetic(), {{"question", "x"}, {"questoin", "x"}}, {});
  for (const auto* result : {&missing, &wrong, &unknown}) {
    ASSERT_FALSE(*result);
    EXPECT_EQ(result->error().code, ErrorCode::kInvalidConfig);
  }
  EXPECT_THAT(missing.error().message, HasSubstr("the input 'question' (str) is missing"));
  EXPECT_THAT(wrong.error().message, HasSubstr("must be str, and is 4"));
  EXPECT_EQ(unknown.error().field, "questoin");
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean 'question'?"));
  EXPECT_TRUE(lm.requests().empty());
}

TEST(AdapterTest, ConstrainsWhereTheModelCan) {
  const auto request = [](LmTraits traits, std::optional<Constrain> constrain) -> Result<LmRequest> {
    ScriptedLm lm({"4"}, traits);
    auto prediction = ChatAdapter().Call(lm, Arithmetic(), {{"question", "?"}}, {.settings = {.constrain = constrain}});
    if (!prediction) return Forward(prediction);
    return lm.requests()[0];
  };
  EXPECT_FALSE(request({.constraints = false}, std::nullopt)->constraint);
  EXPECT_TRUE(request({.constraints = true}, std::nullopt)->constraint);
  EXPECT_TRUE(request({.constraints = true}, Constrain::kOn)->constraint);
  EXPECT_FALSE(request({.constraints = true}, Constrain::kOff)->constraint);
  const auto refused = request({.constraints = false}, Constrain::kOn);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(refused.error().field, "constrain");
}

TEST(AdapterTest, ToolsNeedAModelThatHasThem) {
  const CallOptions options{.tools = {{.name = "add"}}};
  ScriptedLm without;
  const auto refused = ChatAdapter().Call(without, Arithmetic(), {{"question", "?"}}, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("use ReAct"));
  ScriptedLm with({}, {.constraints = true, .tools = true});
  with.Do([](const LmRequest& request) -> Result<LmResponse> {
    EXPECT_EQ(request.tools.size(), 1u);
    EXPECT_FALSE(request.constraint);
    return LmResponse{.tool_calls = {{"add", {{"a", 1}}}}, .finish = FinishReason::kToolCalls};
  });
  const auto prediction = ChatAdapter().Call(with, Arithmetic(), {{"question", "?"}}, options);
  ASSERT_TRUE(prediction);
  ASSERT_EQ(prediction->tool_calls.size(), 1u);
  EXPECT_EQ(prediction->tool_calls[0].name, "add");
}

TEST(AdapterTest, ATimeoutBecomesTheModelsDeadline) {
  ScriptedLm lm({"4", "4"});
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(ChatAdapter().Call(lm, Arithmetic(), {{"question", "?"}}, {}));
  ASSERT_TRUE(ChatAdapter().Call(lm, Arithmetic(), {{"question", "?"}},
                                 {.settings = {.timeout = std::chrono::milliseconds(5000)}}));
  EXPECT_FALSE(lm.requests()[0].deadline);
  ASSERT_TRUE(lm.requests()[1].deadline);
  const auto wait = *lm.requests()[1].deadline - before;
  EXPECT_TRUE(wait >= std::chrono::seconds(5) && wait < std::chrono::seconds(60));
}

TEST(AdapterTest, AnAnswerThatWasCutSaysSo) {
  ScriptedLm lm;
  lm.Say("I think that", FinishReason::kLength);
  const auto prediction = ChatAdapter().Call(lm, Arithmetic(), {{"question", "?"}}, {});
  ASSERT_FALSE(prediction);
  EXPECT_THAT(prediction.error().message, HasSubstr("cut at max_tokens"));
}

TEST(LlamaCppConfigTest, BuilderChecksRanges) {
  const auto good = LlamaCppConfigBuilder().MaxTokens(64).Temperature(0).TopP(0.9).Stop("\n\n").Retries(2).Build();
  ASSERT_TRUE(good);
  EXPECT_EQ(*good->call.sampling.max_tokens, 64);
  for (const auto& [bad, field] :
       {std::pair(LlamaCppConfigBuilder().MaxTokens(0).Build(), "max_tokens"),
        {LlamaCppConfigBuilder().Temperature(-1).Build(), "temperature"},
        {LlamaCppConfigBuilder().TopP(1.5).Build(), "top_p"},
        {LlamaCppConfigBuilder().MinP(2).Build(), "min_p"},
        {LlamaCppConfigBuilder().TopK(-1).Build(), "top_k"},
        {LlamaCppConfigBuilder().Stop("").Build(), "stop"},
        {LlamaCppConfigBuilder().Retries(-1).Build(), "retries"},
        {LlamaCppConfigBuilder().Timeout(std::chrono::milliseconds(0)).Build(), "timeout"}}) {
    ASSERT_FALSE(bad) << field;
    EXPECT_EQ(bad.error().code, ErrorCode::kInvalidConfig);
    EXPECT_EQ(bad.error().field, field);
  }
  EXPECT_TRUE(CheckAgainst(good->call, {.context = 65}));
  const auto contradicts = CheckAgainst(good->call, {.context = 64});
  ASSERT_FALSE(contradicts);
  EXPECT_EQ(contradicts.error().code, ErrorCode::kInvalidConfig);
  EXPECT_THAT(contradicts.error().message, HasSubstr("at most 63"));
}

TEST(LlamaCppConfigTest, SettingsOfTheCallWinOverTheAdapters) {
  ScriptedLm lm({"4"});
  const LlamaCppAdapter adapter(*LlamaCppConfigBuilder().MaxTokens(64).Temperature(0.5).Build());
  CallOptions options;
  options.settings.sampling.temperature = 0.0;
  ASSERT_TRUE(adapter.Call(lm, Arithmetic(), {{"question", "?"}}, options));
  EXPECT_EQ(lm.requests()[0].sampling.max_tokens, 64);
  EXPECT_EQ(lm.requests()[0].sampling.temperature, 0.0);
}

// A scripted model whose load is known.
class ScriptedLoadedModel : public LoadedModel {
 public:
  ScriptedLoadedModel(std::string text, embedded::LoadOptions options)
      : script_({std::move(text)}), options_(std::move(options)) {}

  std::string_view name() const override { return "loaded"; }
  LmTraits traits() const override { return {}; }
  Result<LmResponse> Generate(const LmRequest& request) override { return script_.Generate(request); }
  const embedded::LoadOptions& load_options() const override { return options_; }

 private:
  ScriptedLm script_;
  embedded::LoadOptions options_;
};

TEST(LlamaCppAdapterTest, BoundToAModelItBringsTheModelAlong) {
  const auto other = std::make_shared<ScriptedLm>(std::vector<std::string>{"5", "6"});
  const auto model = std::make_shared<ScriptedLoadedModel>("answer: 4", embedded::LoadOptions{.context = 64});
  const auto adapter = LlamaCppAdapter::FromLoadedModel(model, *LlamaCppConfigBuilder().MaxTokens(16).Build());
  ASSERT_TRUE(adapter) << adapter.error().message;
  const Predict program(Arithmetic());
  const ScopedSettings outer({.lm = other});
  {
    const ScopedSettings scope({.adapter = *adapter});
    EXPECT_EQ(program.Call({{"question", "2+2?"}})->Int("answer"), 4);
    EXPECT_EQ(program.Call({{"question", "2+2?"}}, {.lm = other})->Int("answer"), 5) << "a call's own model wins";
  }
  EXPECT_EQ(program.Call({{"question", "2+2?"}})->Int("answer"), 6) << "the scope is over";
}

TEST(LlamaCppAdapterTest, SettingsThatContradictTheLoadAreRefused) {
  const auto model = std::make_shared<ScriptedLoadedModel>("", embedded::LoadOptions{.context = 64});
  const auto adapter = LlamaCppAdapter::FromLoadedModel(model, *LlamaCppConfigBuilder().MaxTokens(64).Build());
  ASSERT_FALSE(adapter);
  EXPECT_EQ(adapter.error().code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(adapter.error().field, "max_tokens");
  EXPECT_THAT(adapter.error().message, HasSubstr("loaded with a context of 64"));
  EXPECT_EQ(LlamaCppAdapter::FromLoadedModel(nullptr).error().code, ErrorCode::kInvalidConfig);
}

TEST(DspyErrorTest, EngineCodesMapByStage) {
  using Engine = inferflux::ErrorCode;
  for (const auto& [stage, code, expected] : {
           std::tuple(Stage::kFind, Engine::kNotFound, ErrorCode::kModelNotFound),
           {Stage::kLoad, Engine::kNotFound, ErrorCode::kModelNotFound},
           {Stage::kLoad, Engine::kDataLoss, ErrorCode::kModelLoadFailed},
           {Stage::kLoad, Engine::kResourceExhausted, ErrorCode::kBackendError},
           {Stage::kConfigure, Engine::kInvalidArgument, ErrorCode::kInvalidConfig},
           {Stage::kTokenize, Engine::kInvalidArgument, ErrorCode::kTokenizationFailed},
           {Stage::kAdmit, Engine::kResourceExhausted, ErrorCode::kContextTooLong},
           {Stage::kAdmit, Engine::kInvalidArgument, ErrorCode::kContextTooLong},
           {Stage::kGenerate, Engine::kInternal, ErrorCode::kInferenceFailed},
           {Stage::kGenerate, Engine::kUnavailable, ErrorCode::kBackendError},
           {Stage::kGenerate, Engine::kUnsupported, ErrorCode::kInvalidConfig},
           {Stage::kGenerate, Engine::kCancelled, ErrorCode::kCancelled},
       }) {
    const Error error = FromEngine(stage, {code, "why"});
    EXPECT_EQ(NameOf(error.code), NameOf(expected));
    EXPECT_EQ(error.message, "why");
  }
  EXPECT_EQ(NameOf(ErrorCode::kModelNotFound), "ModelNotFound");
  EXPECT_EQ(NameOf(ErrorCode::kBackendError), "BackendError");
}

}  // namespace
}  // namespace inferflux::dspy
