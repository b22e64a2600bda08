#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/llama_cpp_adapter.h"
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

using ::testing::HasSubstr;
using testing::ScriptedLm;

Predict Asking() { return Predict(*Signature::Parse("question -> answer: int")); }
const Values kAsked = {{"question", "2+2"}};

// Answers with the sum that the last message of the prompt asks for.
Result<LmResponse> AddNumbers(const LmRequest& request) {
  const std::string& content = request.messages.back().content;
  const size_t at = content.find("]]\n") + 3;
  const int sum = std::stoi(content.substr(at)) + std::stoi(content.substr(content.find('+', at) + 1));
  return LmResponse{.text = std::to_string(sum), .usage = {.prompt = 10, .cached = 2, .completion = 1}};
}

std::vector<Example> Sums(int count) {
  std::vector<Example> examples;
  for (int i = 0; i < count; ++i) {
    const std::string question = std::to_string(i) + "+" + std::to_string(i + 1);
    examples.push_back(Example({{"question", question}, {"answer", 2 * i + 1}}).WithInputs({"question"}));
  }
  return examples;
}

TEST(DspySettingsTest, ScopesNestAndBelongToTheirThread) {
  const auto one = std::make_shared<ScriptedLm>();
  const auto two = std::make_shared<ScriptedLm>();
  const auto json = std::make_shared<JSONAdapter>();
  const auto before = CurrentSettings();
  Configure(one);
  EXPECT_EQ(CurrentSettings().lm, one);
  {
    const ScopedSettings outer({.lm = two});
    const ScopedSettings inner({.adapter = json});
    EXPECT_EQ(CurrentSettings().lm, two);
    EXPECT_EQ(CurrentSettings().adapter, json);
    std::thread([&] { EXPECT_EQ(CurrentSettings().lm, one); }).join();
  }
  EXPECT_EQ(CurrentSettings().lm, one);
  EXPECT_EQ(CurrentSettings().adapter, before.adapter);
}

TEST(DspyPredictTest, AnswersAreTypedAndCounted) {
  RunContext context{.lm = std::make_shared<ScriptedLm>(std::vector<std::string>{"[[ ## answer ## ]]\n4"})};
  const auto prediction = Asking().Call(kAsked, context);
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(*prediction->Int("answer"), 4);
  EXPECT_EQ(*prediction->Float("answer"), 4.0);
  EXPECT_EQ(prediction->usage().total(), 13u);
  EXPECT_EQ(prediction->usage().cached, 4u);
  EXPECT_THAT(prediction->Text("answer").error().message, HasSubstr("is no text: 4"));
  EXPECT_THAT(prediction->Int("anwser").error().message, HasSubstr("it has: answer"));
}

TEST(DspyRetryTest, TellsTheModelWhatWasWrong) {
  const auto lm = std::make_shared<ScriptedLm>(std::vector<std::string>{"four, I think", "[[ ## answer ## ]]\n4"});
  const auto prediction = Asking().Call(kAsked, {.lm = lm, .settings = {.retries = 1}});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(prediction->usage().total(), 26u);
  const auto& messages = lm->requests()[1].messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[2], (Message{"assistant", "four, I think"}));
  EXPECT_THAT(messages[3].content, HasSubstr("the field 'answer' must be int, and the answer has \"four, I think\""));
}

TEST(DspyRetryTest, TriesTransientErrorsAgainAndOthersNot) {
  for (const auto& [code, calls] : {std::pair(ErrorCode::kBackendError, 2u),
                                    {ErrorCode::kTimeout, 2u},
                                    {ErrorCode::kInferenceFailed, 2u},
                                    {ErrorCode::kContextTooLong, 1u},
                                    {ErrorCode::kInvalidConfig, 1u},
                                    {ErrorCode::kCancelled, 1u},
                                    {ErrorCode::kTokenizationFailed, 1u},
                                    {ErrorCode::kModelNotFound, 1u},
                                    {ErrorCode::kModelLoadFailed, 1u}}) {
    const auto lm = std::make_shared<ScriptedLm>();
    lm->FailWith(code);
    lm->Say("4");
    const auto prediction = Asking().Call(kAsked, {.lm = lm, .settings = {.retries = 3}});
    EXPECT_EQ(prediction.has_value(), calls == 2) << NameOf(code);
    EXPECT_EQ(lm->requests().size(), calls) << NameOf(code);
    EXPECT_TRUE(prediction || prediction.error().code == code) << NameOf(code);
  }
  const auto lm = std::make_shared<ScriptedLm>(std::vector<std::string>{"x", "y", "4"});
  const auto prediction = Asking().Call(kAsked, {.lm = lm, .settings = {.retries = 1}});
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kParseFailed);
}

TEST(DspyRetryTest, ShownFieldsAreNotTakenBack) {
  const auto lm = std::make_shared<ScriptedLm>(std::vector<std::string>{"[[ ## answer ## ]]\nfour", "4"});
  std::string shown;
  const auto prediction = Asking().Stream(kAsked, [&](const FieldDelta& delta) { shown += delta.text; },
                                          {.lm = lm, .settings = {.retries = 5}});
  EXPECT_FALSE(prediction);
  EXPECT_EQ(shown, "four");
  EXPECT_EQ(lm->requests().size(), 1u);
}

TEST(DspyRetryTest, CancellationEndsTheWait) {
  const auto lm = std::make_shared<ScriptedLm>();
  std::stop_source stop;
  lm->Always([&](const LmRequest&) -> Result<LmResponse> {
    stop.request_stop();
    return Fail(ErrorCode::kBackendError, "full");
  });
  const auto prediction = Asking().Call(kAsked, {.lm = lm, .settings = {.retries = 100}, .cancel = stop.get_token()});
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(lm->requests().size(), 1u);
}

TEST(DspyAsyncTest, CallsRunAtOnceWithTheCallersSettings) {
  const auto lm = std::make_shared<ScriptedLm>();
  std::atomic<int> running = 0;
  lm->Always([&](const LmRequest& request) -> Result<LmResponse> {
    ++running;
    while (running < 4) std::this_thread::yield();  // all four are within Generate at the same time
    return AddNumbers(request);
  });
  std::vector<std::future<Result<Prediction>>> futures;
  {
    const ScopedSettings scope({.lm = lm, .adapter = std::make_shared<ChatAdapter>()});
    for (int i = 0; i < 3; ++i) futures.push_back(Asking().CallAsync({{"question", std::to_string(i) + "+1"}}));
  }
  std::promise<int64_t> told;
  const auto done = Asking().CallAsync({{"question", "40+2"}},
                                       [&](Result<Prediction> result) { told.set_value(*result->Int("answer")); },
                                       {.lm = lm, .adapter = std::make_shared<ChatAdapter>()});
  for (int i = 0; i < 3; ++i) {
    const auto prediction = futures[static_cast<size_t>(i)].get();
    ASSERT_TRUE(prediction) << prediction.error().message;
    EXPECT_EQ(*prediction->Int("answer"), i + 1);
  }
  EXPECT_EQ(told.get_future().get(), 42);
}

TEST(DspyAsyncTest, ACallIsCancelled) {
  const auto lm = std::make_shared<ScriptedLm>();
  lm->Always([](const LmRequest& request) -> Result<LmResponse> {
    while (!request.cancel.stop_requested()) std::this_thread::yield();
    return Fail(ErrorCode::kCancelled, "the caller gave up");
  });
  std::stop_source stop;
  auto future = Asking().CallAsync(kAsked, {.lm = lm, .cancel = stop.get_token()});
  stop.request_stop();
  const auto prediction = future.get();
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kCancelled);
}

TEST(DspyEvaluateTest, AveragesOverThreads) {
  const auto lm = std::make_shared<ScriptedLm>();
  lm->Always([](const LmRequest& request) -> Result<LmResponse> {
    auto answer = AddNumbers(request);
    if (answer->text.ends_with('5')) answer->text = "0";  // 5, 15, 25, ... are wrong
    return answer;
  });
  const auto examples = Sums(60);
  size_t calls = 0;
  size_t last = 0;
  const EvaluateOptions options{
      .threads = 8, .context = {.lm = lm}, .on_progress = [&](size_t done, size_t total, double) {
        EXPECT_EQ(done, last + 1);
        EXPECT_EQ(total, 60u);
        last = done;
        ++calls;
      }};
  const auto evaluation = Evaluate(Asking(), examples, SameField("answer"), options);
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->score, 80.0);
  EXPECT_EQ(calls, 60u);
  EXPECT_EQ(evaluation->usage.prompt, 600u);
  for (size_t i = 0; i < examples.size(); ++i) {
    EXPECT_EQ(evaluation->results[i].score, (2 * i + 1) % 10 == 5 ? 0.0 : 1.0) << i;
  }
}

TEST(DspyEvaluateTest, FailuresCountUntilThereAreTooMany) {
  const auto lm = std::make_shared<ScriptedLm>(std::vector<std::string>{"1", "not a number", "5"});
  const auto three = Evaluate(Asking(), Sums(3), SameField("answer"), {.context = {.lm = lm}});
  ASSERT_TRUE(three) << three.error().message;
  EXPECT_EQ(three->score, 66.67);
  ASSERT_TRUE(three->results[1].error);
  EXPECT_EQ(three->results[1].error->code, ErrorCode::kParseFailed);

  const auto broken = std::make_shared<ScriptedLm>();
  const auto stopped = Evaluate(Asking(), Sums(100), SameField("answer"), {.max_errors = 3, .context = {.lm = broken}});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kBackendError);
  EXPECT_EQ(broken->requests().size(), 3u);
  EXPECT_FALSE(Evaluate(Asking(), {}, SameField("answer")));
}

TEST(DspyBootstrapTest, KeepsWhatTheMetricAccepts) {
  const auto lm = std::make_shared<ScriptedLm>();
  lm->Always(AddNumbers);
  const BootstrapFewShot optimizer{
      .metric = SameField("answer"), .max_bootstrapped = 2, .max_labeled = 3, .teacher_context = {.lm = lm}};
  const auto compiled = optimizer.Compile(Asking(), Sums(10));
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto predictors = (*compiled)->Predictors();
  ASSERT_EQ(predictors[0].second->demos().size(), 3u);
  EXPECT_EQ(JsonDumps(predictors[0].second->demos()[1].values()),
            R"({"augmented": true, "question": "1+2", "answer": 3})");
  // While an example runs, it is no demonstration: its question is in its prompt once.
  for (const LmRequest& request : lm->requests()) {
    const std::string& asked = request.messages.back().content;
    const std::string question = asked.substr(0, asked.find("\n\n"));
    for (size_t i = 0; i + 1 < request.messages.size(); ++i) EXPECT_NE(request.messages[i].content, question);
  }
  EXPECT_TRUE((*compiled)->compiled());
  EXPECT_FALSE(optimizer.Compile(**compiled, Sums(10)));
  const auto other =
      optimizer.Compile(Asking(), Sums(10), std::make_unique<ChainOfThought>(Asking().signature()).get());
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("'predict'"));
}

TEST(DspyBootstrapTest, LaterRoundsAreWarmer) {
  const auto lm = std::make_shared<ScriptedLm>(std::vector<std::string>{"0", "1"});
  const BootstrapFewShot optimizer{.metric = SameField("answer"), .max_rounds = 2, .teacher_context = {.lm = lm}};
  const auto compiled = optimizer.Compile(Asking(), Sums(1));
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_EQ(lm->requests().size(), 2u);
  EXPECT_FALSE(lm->requests()[0].sampling.temperature);
  EXPECT_EQ(lm->requests()[1].sampling.temperature, 1.0);
  EXPECT_EQ((*compiled)->Predictors()[0].second->demos().size(), 1u);
}

TEST(DspyStateTest, WrongStatesAreNamedAndChangeNothing) {
  ChainOfThought program(Asking().signature());
  boost::json::object state = program.DumpState();
  const boost::json::object before = state;
  for (const auto& [change, says] :
       std::initializer_list<std::pair<std::function<void(boost::json::object&)>, const char*>>{
           {[](auto& s) { s["extra"] = 1; }, "'extra': the program has no such predictor"},
           {[](auto& s) { s.erase("predict"); }, "'predict': it is missing"},
           {[](auto& s) {
              s["predict"].as_object()["lm"] = {{"model", "x"}};
            },
            "\"lm\""},
           {[](auto& s) { s["predict"].as_object()["demos"] = {1}; }, "a demonstration must be an object"},
           {[](auto& s) { s["predict"].as_object()["other"] = 1; }, "\"other\" is not known"},
           {[](auto& s) { s["predict"].as_object()["signature"].as_object()["fields"].as_array().pop_back(); },
            "the state has 2 fields"}}) {
    boost::json::object wrong = state;
    change(wrong);
    const auto loaded = program.LoadState(wrong);
    ASSERT_FALSE(loaded) << says;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidConfig);
    EXPECT_THAT(loaded.error().message, HasSubstr(says));
    EXPECT_EQ(JsonDumps(program.DumpState()), JsonDumps(before));
  }
  EXPECT_FALSE(program.Load("/no/such/state.json"));
}

Tool Adding() {
  return {.name = "add",
          .desc = "Adds.",
          .args = {{"a", {{"type", "integer"}}}, {"b", {{"type", "integer"}, {"default", 2}}}},
          .function = [](const Values& args) -> Result<boost::json::value> {
            return boost::json::value(args.at("a").as_int64() + args.at("b").as_int64());
          }};
}

std::string Turn(const std::string& tool, const std::string& arguments) {
  return "[[ ## next_thought ## ]]\nt\n\n[[ ## next_tool_name ## ]]\n" + tool + "\n\n[[ ## next_tool_args ## ]]\n" +
         arguments;
}

TEST(DspyReActTest, FailuresOfToolsAreObservations) {
  const auto lm = std::make_shared<ScriptedLm>(std::vector<std::string>{
      Turn("add", "{\"a\": \"x\"}"), Turn("add", "{\"c\": 1}"), Turn("add", "{}"), Turn("add", "{\"a\": 40}"),
      Turn("finish", "{}"), "[[ ## reasoning ## ]]\nr\n\n[[ ## answer ## ]]\n42"});
  const auto react = ReAct::Create(Asking().signature(), {Adding()});
  ASSERT_TRUE(react) << react.error().message;
  const auto prediction = react->Call(kAsked, {.lm = lm, .adapter = std::make_shared<ChatAdapter>()});
  ASSERT_TRUE(prediction) << prediction.error().message;
  const Values& trajectory = prediction->values().at("trajectory").as_object();
  EXPECT_THAT(std::string(trajectory.at("observation_0").as_string()),
              HasSubstr("Execution error in add: Arg a is invalid"));
  EXPECT_THAT(std::string(trajectory.at("observation_1").as_string()), HasSubstr("Arg c is not in the tool's args"));
  EXPECT_THAT(std::string(trajectory.at("observation_2").as_string()), HasSubstr("Arg a is missing"));
  EXPECT_EQ(trajectory.at("observation_3").as_int64(), 42);
  EXPECT_EQ(*prediction->Int("answer"), 42);
  EXPECT_EQ(prediction->usage().completion, 18u);
}

TEST(DspyReActTest, ForgetsTheOldestTurnWhereTheContextIsTooLong) {
  const auto lm =
      std::make_shared<ScriptedLm>(std::vector<std::string>{Turn("add", "{\"a\": 1}"), Turn("add", "{\"a\": 2}")});
  lm->FailWith(ErrorCode::kContextTooLong);
  lm->Say(Turn("finish", "{}"));
  lm->Say("[[ ## reasoning ## ]]\nr\n\n[[ ## answer ## ]]\n4");
  const auto react = ReAct::Create(Asking().signature(), {Adding()});
  const auto prediction = react->Call(kAsked, {.lm = lm, .adapter = std::make_shared<ChatAdapter>()});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_FALSE(prediction->values().at("trajectory").as_object().contains("thought_0"));
  EXPECT_TRUE(prediction->values().at("trajectory").as_object().contains("thought_1"));
  EXPECT_THAT(lm->requests()[3].messages.back().content, Not(HasSubstr("thought_0")));
}

TEST(DspyReActTest, AnAnswerWithoutAToolEndsTheTurns) {
  const auto lm = std::make_shared<ScriptedLm>(
      std::vector<std::string>{Turn("multiply", "{}"), "[[ ## reasoning ## ]]\nr\n\n[[ ## answer ## ]]\n4"});
  const auto react = ReAct::Create(Asking().signature(), {Adding()}, 5);
  const auto prediction = react->Call(kAsked, {.lm = lm, .adapter = std::make_shared<ChatAdapter>()});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_EQ(lm->requests().size(), 2u);
  EXPECT_FALSE(ReAct::Create(Asking().signature(), {Adding(), Adding()}));
  EXPECT_FALSE(ReAct::Create(Asking().signature(), {{.name = "finish"}}));
  EXPECT_FALSE(ReAct::Create(Asking().signature(), {}, 0));
}

TEST(DspyChatTest, KeepsTheConversation) {
  const auto lm = std::make_shared<ScriptedLm>(std::vector<std::string>{"Hello!"});
  lm->FailWith(ErrorCode::kBackendError);
  lm->Say("Bye.");
  Chat chat("Be brief.", lm);
  std::string grown;
  EXPECT_EQ(*chat.Say("Hi", [&](std::string_view piece) { grown += piece; }), "Hello!");
  EXPECT_EQ(grown, "Hello!");
  EXPECT_FALSE(chat.Say("lost"));
  EXPECT_EQ(*chat.Say("Bye"), "Bye.");
  EXPECT_EQ(chat.messages().size(), 5u);
  EXPECT_EQ(lm->requests()[2].messages.size(), 4u);
  EXPECT_EQ(chat.usage().total(), 26u);
}

}  // namespace
}  // namespace inferflux::dspy
