// Programs that call a model several times: an agent whose trajectory grows too long, and a teacher that asks twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/optimize/bootstrap_few_shot.h"
#include "dspy/programs/predict.h"
#include "dspy/programs/react.h"
#include "dspy/scripted_lm.h"

namespace inferflux::dspy {
namespace {

using testing::ScriptedLm;

std::string TurnNumber(int turn) {
  return "[[ ## next_thought ## ]]\nthought of " + std::to_string(turn) +
         "\n\n[[ ## next_tool_name ## ]]\nlook\n\n[[ ## next_tool_args ## ]]\n{}";
}

Result<ReAct> Looking(int turns) {
  const Tool look{.name = "look",
                  .function = [](const Values&) -> Result<boost::json::value> { return boost::json::value("seen"); }};
  return ReAct::Create(*Signature::Parse("question -> answer: int"), {look}, turns);
}

// The oldest turn is left out, three times at most.
TEST(LongRunsTest, ATrajectoryThatIsTooLongLosesItsOldestTurns) {
  const auto lm = std::make_shared<ScriptedLm>();
  for (int turn = 0; turn < 6; ++turn) lm->Say(TurnNumber(turn));
  lm->Always([](const LmRequest&) -> Result<LmResponse> { return Fail(ErrorCode::kContextTooLong, "too long"); });
  const auto react = Looking(6);
  ASSERT_TRUE(react) << react.error().message;
  const auto prediction = react->Call({{"question", "2+2"}}, {.lm = lm, .adapter = std::make_shared<ChatAdapter>()});
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kContextTooLong);
  ASSERT_EQ(lm->requests().size(), 10u) << "six turns, an answer, and three attempts at a shorter one";
  for (int cut = 0; cut < 4; ++cut) {
    const std::string& asked = lm->requests()[static_cast<size_t>(6 + cut)].messages.back().content;
    for (int turn = 0; turn < 6; ++turn) {
      for (const char* part : {"thought_", "tool_name_", "tool_args_", "observation_"}) {
        const std::string mark = "[[ ## " + std::string(part) + std::to_string(turn) + " ## ]]";
        EXPECT_EQ(asked.find(mark) != std::string::npos, turn >= cut) << mark << " after " << cut;
      }
    }
  }
}

TEST(LongRunsTest, ATrajectoryOfOneTurnStaysWhole) {
  const auto lm = std::make_shared<ScriptedLm>();
  lm->Say(TurnNumber(0));
  lm->Always([](const LmRequest&) -> Result<LmResponse> { return Fail(ErrorCode::kContextTooLong, "too long"); });
  const auto react = Looking(1);
  ASSERT_TRUE(react) << react.error().message;
  EXPECT_FALSE(react->Call({{"question", "2+2"}}, {.lm = lm, .adapter = std::make_shared<ChatAdapter>()}));
  EXPECT_EQ(lm->requests().size(), 2u);
}

// Asks the same predictor three times.
class ThreeTimes : public Module {
 public:
  Result<Prediction> Forward(const Values& inputs, const RunContext& context) const override {
    for (int i = 0; i < 2; ++i) {
      if (auto draft = predict_.Forward(inputs, context); !draft) return draft;
    }
    return predict_.Forward(inputs, context);
  }
  std::vector<NamedPredictor> Predictors() override { return PredictorsOf({{"ask", &predict_}}); }
  std::unique_ptr<Module> Clone() const override { return std::make_unique<ThreeTimes>(*this); }

 private:
  Predict predict_{*Signature::Parse("question -> answer: int")};
};

// As Python's random says with the example's number as its seed: the last, or one of those before it.
TEST(LongRunsTest, OfSeveralCallsInARunOneBecomesADemonstration) {
  const auto lm = std::make_shared<ScriptedLm>();
  std::vector<Example> examples;
  for (int i = 0; i < 16; ++i) {
    examples.push_back(Example({{"question", std::to_string(i)}, {"answer", i}}).WithInputs({"question"}));
    for (int call = 0; call < 3; ++call) lm->Say("[[ ## answer ## ]]\n" + std::to_string(10 * i + call));
  }
  const BootstrapFewShot optimizer{.max_bootstrapped = 16,
                                   .max_labeled = 0,
                                   .teacher_context = {.lm = lm, .adapter = std::make_shared<ChatAdapter>()}};
  const auto compiled = optimizer.Compile(ThreeTimes(), examples);
  ASSERT_TRUE(compiled) << compiled.error().message;
  std::vector<int64_t> answers;
  for (const Example& demo : (*compiled)->Predictors()[0].second->demos()) {
    answers.push_back(demo.values().at("answer").as_int64());
  }
  EXPECT_THAT(answers, ::testing::ElementsAre(2, 10, 22, 30, 40, 52, 62, 70, 81, 91, 102, 111, 121, 130, 140, 152));
}

}  // namespace
}  // namespace inferflux::dspy
