// What a program hands out and keeps while it runs, is taught and is loaded, and the rules of schemas that refer to
// each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/gbnf_writer.h"
#include "dspy/optimize/bootstrap_few_shot.h"
#include "dspy/optimize/labeled_few_shot.h"
#include "dspy/programs/predict.h"
#include "dspy/programs/react.h"
#include "dspy/python/python_format.h"
#include "dspy/scripted_lm.h"

namespace inferflux::dspy {
namespace {

using ::testing::ElementsAre;
using testing::ScriptedLm;

Predict Counting() { return Predict(*Signature::Parse("question -> answer: int")); }
std::shared_ptr<const Adapter> InChatForm() { return std::make_shared<ChatAdapter>(); }

std::shared_ptr<ScriptedLm> Telling(std::vector<std::string> texts) {
  return std::make_shared<ScriptedLm>(std::move(texts));
}

std::vector<Example> Numbered(int count) {
  std::vector<Example> examples;
  for (int i = 0; i < count; ++i) {
    examples.push_back(Example({{"question", std::to_string(i)}, {"answer", i}}).WithInputs({"question"}));
  }
  return examples;
}

TEST(ProgramRunsTest, OnlyTheAnswerOfAnAgentIsHandedOut) {
  const auto lm =
      Telling({"[[ ## next_thought ## ]]\nt\n\n[[ ## next_tool_name ## ]]\nfinish\n\n[[ ## next_tool_args ## ]]\n{}",
               "[[ ## reasoning ## ]]\nr\n\n[[ ## answer ## ]]\n4"});
  const auto react = ReAct::Create(Counting().signature(), {}, 2);
  ASSERT_TRUE(react) << react.error().message;
  std::vector<std::string> fields;
  const auto prediction = react->Stream(
      {{"question", "2+2"}}, [&](const FieldDelta& delta) { fields.push_back(delta.field + "=" + delta.text); },
      {.lm = lm, .adapter = InChatForm()});
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_THAT(fields, ElementsAre("reasoning=r", "answer=4"));
}

TEST(ProgramRunsTest, ATeachersRunsAreQuietAndEachRoundHasItsSeed) {
  const auto lm = Telling({"x", "y", "0"});
  size_t fields = 0;
  const BootstrapFewShot optimizer{
      .max_labeled = 0,
      .max_rounds = 3,
      .teacher_context = {.lm = lm, .adapter = InChatForm(), .on_field = [&](const FieldDelta&) { ++fields; }}};
  const auto compiled = optimizer.Compile(Counting(), Numbered(1));
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(fields, 0u);
  ASSERT_EQ(lm->requests().size(), 3u);
  EXPECT_EQ(lm->requests()[0].sampling.seed, std::nullopt);
  EXPECT_EQ(lm->requests()[1].sampling.seed, 1u);
  EXPECT_EQ(lm->requests()[2].sampling.seed, 2u);
  EXPECT_EQ(lm->requests()[2].sampling.temperature, 1.0);
}

TEST(ProgramRunsTest, ATeacherIsTheStudentsProgram) {
  const BootstrapFewShot optimizer{.max_labeled = 0, .teacher_context = {.lm = Telling({}), .adapter = InChatForm()}};
  const auto error = [&](const Module& teacher) {
    return optimizer.Compile(Counting(), Numbered(1), &teacher).error().message;
  };
  EXPECT_EQ(error(Predict(*Signature::Parse("question -> other"))),
            "the student's predictor 'self' (question -> answer) is not the teacher's 'self' (question -> other)");
  EXPECT_EQ(error(ChainOfThought(Counting().signature())),
            "the student's predictor 'self' (question -> answer) is not the teacher's 'predict' (question -> "
            "reasoning, answer)");
  const auto react = ReAct::Create(Counting().signature(), {}, 2);
  ASSERT_TRUE(react);
  EXPECT_EQ(error(*react), "the student has 1 predictors, and the teacher has 2");
  ChainOfThought compiled(Counting().signature());
  compiled.set_compiled(true);
  EXPECT_EQ(optimizer.Compile(compiled, Numbered(1)).error().message,
            "the student is compiled already; give it as the teacher");
}

class TwoParts : public Module {
 public:
  Result<Prediction> Forward(const Values& inputs, const RunContext& context) const override {
    return first.Forward(inputs, context);
  }
  std::vector<NamedPredictor> Predictors() override { return PredictorsOf({{"first", &first}, {"second", &second}}); }
  std::unique_ptr<Module> Clone() const override { return std::make_unique<TwoParts>(*this); }

  ChainOfThought first{*Signature::Parse("question -> answer: int")};
  Predict second{*Signature::Parse("question -> answer: int")};
};

TEST(ProgramRunsTest, APartThatIsCompiledIsLeftAsItIs) {
  TwoParts program;
  const auto names = [&] {
    std::vector<std::string> out;
    for (const auto& [name, predictor] : program.Predictors()) out.push_back(name);
    return out;
  };
  EXPECT_THAT(names(), ElementsAre("first.predict", "second"));
  program.first.set_compiled(true);
  EXPECT_THAT(names(), ElementsAre("second"));
  program.second.set_compiled(true);
  EXPECT_THAT(names(), ElementsAre("second")) << "a predictor itself is always listed";
}

TEST(ProgramRunsTest, AStateReplacesTheDemonstrations) {
  Predict program = Counting();
  program.set_demos(Numbered(3));
  Predict other = Counting();
  other.set_demos({Example({{"question", "9"}, {"answer", 9}})});
  ASSERT_TRUE(program.LoadState(other.DumpState()));
  ASSERT_EQ(program.demos().size(), 1u);
  EXPECT_EQ(JsonDumps(program.demos()[0].values()), R"({"question": "9", "answer": 9})");
}

TEST(ProgramRunsTest, ACallsAdapterBringsItsModel) {
  class WithModel : public ChatAdapter {
   public:
    explicit WithModel(std::shared_ptr<LM> lm) : lm_(std::move(lm)) {}
    std::shared_ptr<LM> lm() const override { return lm_; }

   private:
    std::shared_ptr<LM> lm_;
  };
  const ScopedSettings scope({.lm = Telling({"1"}), .adapter = InChatForm()});
  const auto bound = std::make_shared<WithModel>(Telling({"2"}));
  Predict program = Counting();
  EXPECT_EQ(program.Call({{"question", "?"}}, {.adapter = bound})->Int("answer"), 2);
  program.set_lm(Telling({"3"}));
  EXPECT_EQ(program.Call({{"question", "?"}}, {.adapter = bound})->Int("answer"), 3) << "its own is nearer";
}

std::string RulesOf(boost::json::object schema) {
  GbnfWriter writer;
  const auto value = writer.Value(FieldType::Object("P", std::move(schema)), "text");
  return value ? writer.Take() + *value : value.error().message;
}

TEST(GbnfReferenceTest, ASchemaThatIsReferredToTwiceHasOneRule) {
  const boost::json::object to_n = {{"$ref", "#/$defs/N"}};
  EXPECT_EQ(
      RulesOf({{"type", "object"}, {"properties", {{"a", to_n}, {"b", to_n}}}, {"$defs", {{"N", {{"type", "null"}}}}}}),
      "v1 ::= \"null\"\n"
      "v0 ::= (\"{\" \"\\x22a\\x22: \" v1 \", \\x22b\\x22: \" v1 \"}\")\n"
      "v0");
}

TEST(GbnfReferenceTest, AMemberThatWouldCallItselfWithoutAnEndIsLeftOut) {
  const auto node = [](boost::json::object members, boost::json::array required) {
    return boost::json::object{
        {"$ref", "#/$defs/N"},
        {"$defs",
         {{"N", {{"type", "object"}, {"properties", std::move(members)}, {"required", std::move(required)}}}}}};
  };
  const boost::json::object to_n = {{"$ref", "#/$defs/N"}}, one = {{"const", 1}};
  const boost::json::object holds = {{"type", "object"}, {"properties", {{"n", to_n}}}, {"required", {"n"}}};
  const boost::json::object may_hold = {{"type", "object"}, {"properties", {{"n", to_n}, {"k", one}}}};
  const std::string same = "(\"{\" \"\\x22k\\x22: \" \"1\" \"}\")\n";
  EXPECT_EQ(RulesOf(node({{"k", one}, {"next", to_n}}, {"k"})).find("next"), std::string::npos);
  EXPECT_EQ(RulesOf(node({{"k", one}, {"held", holds}}, {})).find("held"), std::string::npos) << "it needs itself";
  EXPECT_NE(RulesOf(node({{"k", one}, {"held", may_hold}}, {})).find("held"), std::string::npos);
  EXPECT_NE(
      RulesOf(node({{"k", one}, {"list", {{"type", "array"}, {"items", to_n}}}, {"z", one}}, {})).find("\\x22z\\x22"),
      std::string::npos)
      << "what follows it is there";
  EXPECT_EQ(RulesOf(node({{"k", one}, {"next", to_n}}, {})), "v1 ::= " + same + "v0 ::= v1\nv0");
}

}  // namespace
}  // namespace inferflux::dspy
