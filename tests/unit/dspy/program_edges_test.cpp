// Programs at their edges: which model is asked, when an evaluation or a teacher gives up, and what a tool takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/optimize/bootstrap_few_shot.h"
#include "dspy/optimize/evaluate.h"
#include "dspy/optimize/labeled_few_shot.h"
#include "dspy/programs/chat.h"
#include "dspy/programs/predict.h"
#include "dspy/programs/react.h"
#include "dspy/python/python_format.h"
#include "dspy/scripted_lm.h"

namespace inferflux::dspy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScriptedLm;
using Texts = std::vector<std::string>;

Predict Answering() { return Predict(*Signature::Parse("question -> answer: int")); }
const Values kInputs = {{"question", "2+2"}};

std::shared_ptr<ScriptedLm> Saying(Texts texts) { return std::make_shared<ScriptedLm>(std::move(texts)); }
std::shared_ptr<const Adapter> ChatForm() { return std::make_shared<ChatAdapter>(); }

std::vector<Example> Questions(int count) {
  std::vector<Example> examples;
  for (int i = 0; i < count; ++i) {
    examples.push_back(Example({{"question", std::to_string(i)}, {"answer", i}}).WithInputs({"question"}));
  }
  return examples;
}

TEST(PredictTest, TheNearestModelAnswers) {
  const ScopedSettings scope({.lm = Saying({"1"}), .adapter = ChatForm()});
  Predict program = Answering();
  EXPECT_EQ(program.Call(kInputs)->Int("answer"), 1) << "the scope's";
  program.set_lm(Saying({"2"}));
  EXPECT_EQ(program.Call(kInputs)->Int("answer"), 2) << "its own";
  EXPECT_EQ(program.Call(kInputs, {.lm = Saying({"3"})})->Int("answer"), 3) << "the call's";
  program.set_demos(Questions(1));
  program.Reset();
  EXPECT_TRUE(program.demos().empty());
  EXPECT_FALSE(program.Call(kInputs)) << "the scope's script is over";
}

TEST(PredictTest, EachRunIsTraced) {
  std::vector<TraceStep> trace;
  const Predict program = Answering();
  ASSERT_TRUE(program.Call(kInputs, {.lm = Saying({"4"}), .adapter = ChatForm(), .trace = &trace}));
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace[0].predictor, &program);
  EXPECT_EQ(JsonDumps(trace[0].inputs), R"({"question": "2+2"})");
  EXPECT_EQ(JsonDumps(trace[0].outputs), R"({"answer": 4})");
  EXPECT_FALSE(program.Call(kInputs, {.lm = Saying({"x"}), .adapter = ChatForm(), .trace = &trace}));
  EXPECT_EQ(trace.size(), 1u) << "a run that failed is none";
}

TEST(PredictTest, TheCallsSettingsComeBeforeThePredictors) {
  const auto lm = Saying({"4"});
  Predict program = Answering();
  program.set_settings({.sampling = {.max_tokens = 5, .temperature = 0.5}});
  ASSERT_TRUE(program.Call(kInputs, {.lm = lm, .adapter = ChatForm(), .settings = {.sampling = {.max_tokens = 6}}}));
  EXPECT_EQ(lm->requests()[0].sampling.max_tokens, 6);
  EXPECT_EQ(lm->requests()[0].sampling.temperature, 0.5);
}

TEST(RetryTest, AfterTheLastAttemptTheErrorStands) {
  const auto lm = Saying({"x", "y", "z", "4"});
  const auto prediction = Answering().Call(kInputs, {.lm = lm, .adapter = ChatForm(), .settings = {.retries = 2}});
  ASSERT_FALSE(prediction);
  EXPECT_EQ(lm->requests().size(), 3u);
  EXPECT_THAT(prediction.error().message, HasSubstr("\"z\""));
  EXPECT_EQ(lm->requests()[2].messages.size(), 4u) << "the last wrong answer alone is shown";
  EXPECT_EQ(lm->requests()[2].messages[3].content,
            "That answer could not be read: the field 'answer' must be int, and the answer has \"y\". Answer again, in "
            "the form that was described.");
  const auto once = Saying({"x", "4"});
  EXPECT_FALSE(Answering().Call(kInputs, {.lm = once, .adapter = ChatForm()})) << "none unless they are asked for";
}

TEST(RetryTest, AttemptsThatFailWaitLongerEachTime) {
  const auto lm = std::make_shared<ScriptedLm>();
  for (int i = 0; i < 2; ++i) lm->FailWith(ErrorCode::kBackendError);
  lm->Say("4");
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(Answering().Call(kInputs, {.lm = lm, .adapter = ChatForm(), .settings = {.retries = 2}}));
  const auto waited = std::chrono::steady_clock::now() - began;
  EXPECT_GE(waited, std::chrono::milliseconds(150)) << "50, then 100";
  EXPECT_LT(waited, std::chrono::seconds(60));
}

TEST(RetryTest, ACallThatIsCancelledSaysAfterHowManyAttempts) {
  const auto lm = std::make_shared<ScriptedLm>();
  std::stop_source stop;
  lm->Say("x");
  lm->Do([&](const LmRequest&) -> Result<LmResponse> {
    stop.request_stop();
    return LmResponse{.text = "y"};
  });
  const auto prediction = Answering().Call(
      kInputs, {.lm = lm, .adapter = ChatForm(), .settings = {.retries = 9}, .cancel = stop.get_token()});
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().message, "the call was cancelled after 2 attempts");
}

TEST(EvaluateTest, ThreadsAreFromOneTo1024) {
  for (const size_t wrong : {size_t{0}, size_t{1025}}) {
    const auto refused = Evaluate(Answering(), Questions(1), SameField("answer"), {.threads = wrong});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().field, "threads");
    EXPECT_EQ(refused.error().message, fmt::format("threads is {}; it must be from 1 to 1024", wrong));
  }
  for (const size_t good : {size_t{1}, size_t{1024}}) {
    EXPECT_TRUE(Evaluate(Answering(), Questions(1), SameField("answer"),
                         {.threads = good, .context = {.lm = Saying({"0"}), .adapter = ChatForm()}}));
  }
}

TEST(EvaluateTest, EachExampleIsCountedOnceWithItsMeanSoFar) {
  std::vector<double> means;
  const auto evaluation = Evaluate(Answering(), Questions(4), SameField("answer"),
                                   {.max_errors = 2,
                                    .failure_score = 0.5,
                                    .context = {.lm = Saying({"0", "x", "7", "3"}), .adapter = ChatForm()},
                                    .on_progress = [&](size_t done, size_t total, double mean) {
                                      EXPECT_EQ(total, 4u);
                                      EXPECT_EQ(done, means.size() + 1);
                                      means.push_back(mean);
                                    }});
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_THAT(means, ElementsAre(1.0, 0.75, 0.5, 0.625));
  EXPECT_EQ(evaluation->score, 62.5);
  EXPECT_EQ(evaluation->usage.total(), 39u) << "of the three that were read";
  EXPECT_EQ(evaluation->results[1].score, 0.5);
  EXPECT_TRUE(evaluation->results[1].error && !evaluation->results[0].error);
}

TEST(EvaluateTest, ACancelledEvaluationSaysHowFarItCame) {
  const auto lm = std::make_shared<ScriptedLm>();
  std::stop_source stop;
  lm->Say("0");
  lm->Do([&](const LmRequest&) -> Result<LmResponse> {
    stop.request_stop();
    return LmResponse{.text = "1"};
  });
  const auto cancelled = Evaluate(Answering(), Questions(4), SameField("answer"),
                                  {.context = {.lm = lm, .adapter = ChatForm(), .cancel = stop.get_token()}});
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(cancelled.error().message, "the evaluation was cancelled after 2 of 4 examples");
}

TEST(EvaluateTest, NeitherTraceNorFieldsOfItsRunsAreHandedOut) {
  std::vector<TraceStep> trace;
  size_t fields = 0;
  const EvaluateOptions options{.context = {.lm = Saying({"0"}),
                                            .adapter = ChatForm(),
                                            .on_field = [&](const FieldDelta&) { ++fields; },
                                            .trace = &trace}};
  ASSERT_TRUE(Evaluate(Answering(), Questions(1), SameField("answer"), options));
  EXPECT_TRUE(trace.empty());
  EXPECT_EQ(fields, 0u);
}

TEST(MetricTest, AFieldIsTheSameInBothOrNot) {
  const Metric metric = SameField("a");
  EXPECT_EQ(metric(Example({{"a", 1}}), Prediction({{"a", 1}}, {})), 1.0);
  EXPECT_EQ(metric(Example({{"a", 1}}), Prediction({{"a", 2}}, {})), 0.0);
  EXPECT_EQ(metric(Example({{"b", 1}}), Prediction({{"a", 1}}, {})), 0.0);
  EXPECT_EQ(metric(Example({{"a", 1}}), Prediction({{"b", 1}}, {})), 0.0);
  EXPECT_EQ(metric(Example({{"b", 1}}), Prediction({{"b", 1}}, {})), 0.0);
}

// The questions of the demonstrations that a teacher's accepted runs left.
Texts Bootstrapped(const BootstrapFewShot& optimizer, int examples) {
  const auto compiled = optimizer.Compile(Answering(), Questions(examples));
  if (!compiled) return {compiled.error().message};
  Texts out;
  for (const Example& demo : (*compiled)->Predictors()[0].second->demos()) {
    out.push_back((demo.values().contains("augmented") ? "+" : "") +
                  std::string(demo.values().at("question").as_string()));
  }
  return out;
}

TEST(BootstrapTest, AThresholdIsTheLeastThatIsAccepted) {
  const Metric half = [](const Example&, const Prediction& p) { return static_cast<double>(*p.Int("answer")) / 2; };
  const auto with = [&](std::optional<double> threshold) {
    return BootstrapFewShot{.metric = half,
                            .threshold = threshold,
                            .max_labeled = 0,
                            .teacher_context = {.lm = Saying({"0", "1", "2"}), .adapter = ChatForm()}};
  };
  EXPECT_THAT(Bootstrapped(with(std::nullopt), 3), ElementsAre("+1", "+2")) << "all but zero";
  EXPECT_THAT(Bootstrapped(with(0.0), 3), ElementsAre("+1", "+2")) << "as none";
  EXPECT_THAT(Bootstrapped(with(0.5), 3), ElementsAre("+1", "+2"));
  EXPECT_THAT(Bootstrapped(with(0.6), 3), ElementsAre("+2"));
}

TEST(BootstrapTest, TooManyFailedRunsEndIt) {
  const auto with = [&](size_t max_errors) {
    return BootstrapFewShot{.max_labeled = 0,
                            .max_errors = max_errors,
                            .teacher_context = {.lm = Saying({"x", "1", "y", "3"}), .adapter = ChatForm()}};
  };
  EXPECT_THAT(Bootstrapped(with(3), 4), ElementsAre("+1", "+3"));
  EXPECT_THAT(Bootstrapped(with(2), 4), ElementsAre(HasSubstr("\"y\"")));
}

TEST(BootstrapTest, DemonstrationsAreAsManyAsWereAskedFor) {
  const auto with = [&](size_t bootstrapped, size_t labelled) {
    auto lm = Saying({"0", "1", "2", "3"});
    auto demos = Bootstrapped({.max_bootstrapped = bootstrapped,
                               .max_labeled = labelled,
                               .teacher_context = {.lm = lm, .adapter = ChatForm()}},
                              4);
    return std::pair(std::move(demos), lm->requests().size());
  };
  EXPECT_EQ(with(1, 1), std::pair(Texts{"+0"}, size_t{1}));
  EXPECT_EQ(with(2, 0), std::pair(Texts{"+0", "+1"}, size_t{2}));
  EXPECT_EQ(with(0, 2).second, 0u);
  EXPECT_EQ(with(0, 2).first.size(), 2u);
  EXPECT_EQ(with(1, 9).first.size(), 4u) << "no more than there are";
}

TEST(LabeledTest, TheFirstExamplesAreTakenUnlessTheyAreSampled) {
  const auto compiled = LabeledFewShot{.k = 2, .sample = false}.Compile(Answering(), Questions(3));
  const auto& demos = compiled->Predictors()[0].second->demos();
  ASSERT_EQ(demos.size(), 2u);
  EXPECT_EQ(demos[1].values().at("answer"), 1);
  EXPECT_TRUE(LabeledFewShot().Compile(Answering(), {})->Predictors()[0].second->demos().empty());
  EXPECT_EQ(LabeledFewShot{.k = 9}.Compile(Answering(), Questions(3))->Predictors()[0].second->demos().size(), 3u);
}

TEST(ToolTest, ItsDescriptionAndItsArgumentsAreWhatAModelSees) {
  Tool tool{.name = "add", .desc = "", .args = {{"a", {{"type", "integer"}}}, {"b", {{"default", 2}}}, {"c", 1}}};
  EXPECT_EQ(tool.Describe(), "add. It takes arguments {'a': {'type': 'integer'}, 'b': {'default': 2}, 'c': 1}.");
  EXPECT_EQ(JsonDumps(tool.Spec().parameters),
            R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"default": 2}, "c": 1}, )"
            R"("required": ["a", "c"]})");
  tool.desc = "Adds\ntwo.";
  EXPECT_THAT(tool.Describe(), ::testing::StartsWith("add, whose description is <desc>Adds  two.</desc>. It takes"));
  const auto refused = tool.Call({{"a", 1}, {"c", 3}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the tool 'add' has no function");
  tool.function = [](const Values& args) -> Result<boost::json::value> { return boost::json::value(JsonDumps(args)); };
  EXPECT_EQ(*tool.Call({{"a", 1.0}, {"c", "x"}}), boost::json::value(R"({"a": 1, "c": "x", "b": 2})"));
  EXPECT_EQ(tool.Call({{"a", 1}}).error().message, "Arg c is missing.");
  EXPECT_EQ(tool.Call({{"z", 1}}).error().message, "Arg z is not in the tool's args.");
  EXPECT_EQ(tool.Call({{"a", "x"}, {"c", 1}}).error().message, "Arg a is invalid: at $: must be of type integer");
}

TEST(ReActTest, WrongToolsAreNamed) {
  const auto said = [](std::vector<Tool> tools, int iterations = 1) {
    const auto made = ReAct::Create(Answering().signature(), std::move(tools), iterations);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({}, 0), "max_iterations is 0; it must be at least 1");
  EXPECT_EQ(said({{.name = ""}}), "a tool has no name");
  EXPECT_EQ(said({{.name = "finish"}}), "the tool 'finish' occurs twice");
  EXPECT_EQ(said({{.name = "a"}, {.name = "b"}, {.name = "a"}}), "the tool 'a' occurs twice");
  EXPECT_EQ(said({{.name = "a", .args = {{"x", 1}}}}), "the argument 'x' of the tool 'a' needs a JSON schema");
  EXPECT_EQ(said({{.name = "a", .args = {{"x", {{"pattern", 1}}}}}}),
            "the argument 'x' of the tool 'a': the JSON schema at #: the keyword 'pattern' is not honoured; leave it "
            "out");
}

TEST(ReActTest, TurnsEndAtTheirNumber) {
  const std::string turn =
      "[[ ## next_thought ## ]]\nt\n\n[[ ## next_tool_name ## ]]\nlook\n\n[[ ## next_tool_args ## ]]\n{}";
  const auto lm = Saying({turn, turn, "[[ ## reasoning ## ]]\nr\n\n[[ ## answer ## ]]\n4"});
  const Tool look{.name = "look",
                  .function = [](const Values&) -> Result<boost::json::value> { return boost::json::value("seen"); }};
  const auto react = ReAct::Create(Answering().signature(), {look}, 2);
  ASSERT_TRUE(react) << react.error().message;
  const auto prediction = react->Call(kInputs, {.lm = lm, .adapter = ChatForm()});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(JsonDumps(prediction->values()),
            R"({"trajectory": {"thought_0": "t", "tool_name_0": "look", "tool_args_0": {}, "observation_0": "seen", )"
            R"("thought_1": "t", "tool_name_1": "look", "tool_args_1": {}, "observation_1": "seen"}, )"
            R"("reasoning": "r", "answer": 4})");
  EXPECT_EQ(prediction->usage().total(), 39u);
  EXPECT_THAT(lm->requests()[0].messages[0].content,
              HasSubstr("must be one of:\n        \n        (1) look. It takes"));
  EXPECT_THAT(lm->requests()[0].messages[0].content, HasSubstr("\n        (2) finish, whose description is <desc>"));
}

TEST(ReActTest, OtherErrorsEndItAtOnce) {
  const auto lm = std::make_shared<ScriptedLm>();
  lm->FailWith(ErrorCode::kCancelled);
  lm->Say("4");
  const auto react = ReAct::Create(Answering().signature(), {});
  const auto prediction = react->Call(kInputs, {.lm = lm, .adapter = ChatForm()});
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(lm->requests().size(), 1u);
}

TEST(ChatEdgesTest, ItsSettingsReachTheModel) {
  const auto lm = Saying({" hello "});
  std::stop_source stop;
  Chat chat("", lm, {.sampling = {.max_tokens = 5}, .timeout = std::chrono::milliseconds(5000)});
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(chat.Say("Hi", nullptr, stop.get_token()), " hello ");
  const LmRequest& request = lm->requests()[0];
  EXPECT_THAT(request.messages, ElementsAre(Message{"user", "Hi"}));
  EXPECT_EQ(request.sampling.max_tokens, 5);
  EXPECT_TRUE(request.cancel.stop_possible());
  ASSERT_TRUE(request.deadline);
  EXPECT_GE(*request.deadline - before, std::chrono::seconds(5));
  const auto plain = std::make_shared<ScriptedLm>(Texts{" hello "}, LmTraits{.chat_template = false});
  Chat without("Be brief.", plain);
  EXPECT_EQ(without.Say("Hi"), "hello") << "what a plain text begins and ends with is no part of the reply";
  EXPECT_EQ(plain->requests()[0].prompt, "System: Be brief.\n\nUser: Hi\n\nAssistant:");
  EXPECT_FALSE(plain->requests()[0].deadline);
  EXPECT_THAT(without.messages(),
              ElementsAre(Message{"system", "Be brief."}, Message{"user", "Hi"}, Message{"assistant", "hello"}));
  EXPECT_EQ(Chat("", lm, {.constrain = Constrain::kOn}).Say("x").error().field, "constrain");
  EXPECT_EQ(Chat("", lm, {.retries = -1}).Say("x").error().field, "retries");
}

}  // namespace
}  // namespace inferflux::dspy
