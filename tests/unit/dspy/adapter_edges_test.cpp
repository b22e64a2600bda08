// What is refused before a model is asked, which settings apply, and what a saved state must have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "dspy/adapters/chat_adapter.h"
#include "dspy/adapters/llama_cpp_adapter.h"
#include "dspy/programs/predict.h"
#include "dspy/programs/settings.h"
#include "dspy/python/literal_reader.h"
#include "dspy/python/python_format.h"
#include "dspy/scripted_lm.h"

namespace inferflux::dspy {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::ScriptedLm;

std::string ErrorOf(const std::string& signature, const Values& inputs, const CallOptions& options = {},
                    LmTraits traits = {}) {
  ScriptedLm lm({"x"}, traits);
  const auto prediction = ChatAdapter().Call(lm, *Signature::Parse(signature), inputs, options);
  return prediction ? "" : prediction.error().message;
}

TEST(AdapterEdgesTest, InputsAreCheckedBeforeAModelIsAsked) {
  EXPECT_EQ(ErrorOf("a, b: int -> c", {{"a", "x"}}), "the input 'b' (int) is missing; 'a, b -> c' takes: a, b");
  EXPECT_EQ(ErrorOf("a, b: Optional[int] -> c", {{"a", "x"}}), "") << "it may be None";
  EXPECT_EQ(ErrorOf("a, h: History -> c", {{"a", "x"}}), "") << "a conversation may begin";
  EXPECT_EQ(ErrorOf("a -> c", {{"a", "x"}, {"zzzzzzz", 1}}), "'zzzzzzz' is no input of 'a -> c'");
  EXPECT_EQ(ErrorOf("question -> c", {{"question", "x"}, {"questio", 1}}),
            "'questio' is no input of 'question -> c'; did you mean 'question'?");
}

TEST(AdapterEdgesTest, SettingsThatCannotBeAreNamed) {
  const Values inputs = {{"a", "x"}};
  CallOptions options;
  options.settings.retries = -1;
  EXPECT_EQ(ErrorOf("a -> c", inputs, options), "retries is -1; it must be from 0 to 100");
  options.settings = {.constrain = Constrain::kOn};
  EXPECT_EQ(ErrorOf("a -> c", inputs, options), "constrain is on, and the model 'scripted' honours no constraints");
  options.tools = {{.name = "t"}};
  EXPECT_EQ(ErrorOf("a -> c", inputs, options, {.constraints = true, .tools = true}),
            "constrain is on, and a call with tools cannot be constrained");
  options.settings = {};
  EXPECT_EQ(ErrorOf("a -> c", inputs, options),
            "the model 'scripted' has no notation for calls of tools; use ReAct, which describes tools in the prompt");
}

TEST(AdapterEdgesTest, ATypeWithoutAGrammarIsAnErrorOnlyWhereOneIsAskedFor) {
  const boost::json::object schema = {{"type", "object"},
                                      {"properties", {{"n", {{"type", "integer"}, {"minimum", 0}}}}}};
  const auto signature = SignatureBuilder().Input("a").Output("p", FieldType::Object("P", schema)).Build();
  for (const bool on : {false, true}) {
    ScriptedLm lm({"{\"n\": 1}"}, {.constraints = true});
    CallOptions options;
    if (on) options.settings.constrain = Constrain::kOn;
    const auto prediction = ChatAdapter().Call(lm, *signature, {{"a", "x"}}, options);
    EXPECT_EQ(prediction.has_value(), !on);
    if (prediction) {
      EXPECT_FALSE(lm.requests()[0].constraint);
    } else {
      EXPECT_EQ(prediction.error().field, "p");
    }
  }
}

TEST(AdapterEdgesTest, ACancelledCallAsksNobody) {
  ScriptedLm lm({"x"});
  std::stop_source stop;
  stop.request_stop();
  const auto prediction =
      ChatAdapter().Call(lm, *Signature::Parse("a -> c"), {{"a", "x"}}, {.cancel = stop.get_token()});
  ASSERT_FALSE(prediction);
  EXPECT_EQ(prediction.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(prediction.error().message, "the call was cancelled before it began");
  EXPECT_TRUE(lm.requests().empty());
}

TEST(AdapterEdgesTest, WhatTheModelSaidIsKeptWhetherOrNotItParses) {
  for (const char* text : {"four", "4"}) {
    ScriptedLm lm({text});
    Attempt attempt;
    CallOptions options;
    options.attempt = &attempt;
    options.appended = {{"user", "again"}};
    (void)ChatAdapter().Call(lm, *Signature::Parse("a -> n: int"), {{"a", "x"}}, options);
    EXPECT_EQ(attempt.text, text);
    EXPECT_EQ(attempt.usage.total(), 13u);
    EXPECT_EQ(lm.requests()[0].messages.back(), (Message{"user", "again"})) << "behind the prompt";
  }
}

TEST(AdapterEdgesTest, DemonstrationsThatLackFieldsComeFirst) {
  const auto signature = Signature::Parse("a, b -> c, d");
  const std::vector<Example> demos = {Example({{"a", "whole"}, {"b", "1"}, {"c", "2"}, {"d", "3"}}),
                                      Example({{"a", "no output"}}), Example({{"c", "no input"}}),
                                      Example({{"a", "part"}, {"c", "4"}}),
                                      Example({{"a", "null"}, {"b", nullptr}, {"c", "5"}, {"d", "6"}})};
  std::vector<std::string> contents;
  for (const Message& message : LlamaCppAdapter().Format(*signature, demos, {{"a", "x"}, {"b", "y"}}))
    contents.push_back(message.content);
  EXPECT_THAT(contents, ElementsAre("Given the fields `a`, `b`, produce the fields `c`, `d`.", "a: part", "c: 4",
                                    "a: null\nb: None", "c: 5\nd: 6", "a: whole\nb: 1", "c: 2\nd: 3", "a: x\nb: y"));
}

TEST(AdapterEdgesTest, AHistorysTurnsComeBeforeTheQuestion) {
  const auto signature = Signature::Parse("a, h: History -> c");
  const Values inputs = {{"a", "now"}, {"h", {{"messages", {{{"a", "then"}, {"c", "1"}}, {{"c", "2"}}}}}}};
  std::vector<std::string> contents;
  for (const Message& message : LlamaCppAdapter().Format(*signature, {}, inputs))
    contents.push_back(message.role + " " + message.content);
  contents.erase(contents.begin());
  EXPECT_THAT(contents, ElementsAre("user a: then", "assistant c: 1", "assistant c: 2", "user a: now"));
}

TEST(SettingsEdgesTest, AnAdapterThatIsBoundBringsItsModel) {
  class Bound : public ChatAdapter {
   public:
    explicit Bound(std::shared_ptr<LM> lm) : lm_(std::move(lm)) {}
    std::shared_ptr<LM> lm() const override { return lm_; }

   private:
    std::shared_ptr<LM> lm_;
  };
  const auto own = std::make_shared<ScriptedLm>(), other = std::make_shared<ScriptedLm>();
  const auto bound = std::make_shared<Bound>(own);
  const auto before = CurrentSettings();
  {
    const ScopedSettings scope({.adapter = bound});
    EXPECT_EQ(CurrentSettings().lm, own);
  }
  {
    const ScopedSettings scope({.lm = other, .adapter = bound});
    EXPECT_EQ(CurrentSettings().lm, other) << "what is said wins";
    EXPECT_EQ(CurrentSettings().adapter, bound);
  }
  Configure(nullptr, bound);
  EXPECT_EQ(CurrentSettings().lm, own);
  EXPECT_EQ(CurrentSettings().adapter, bound);
  Configure(other);
  EXPECT_EQ(CurrentSettings().lm, other);
  EXPECT_EQ(CurrentSettings().adapter, bound) << "what is not said stays";
  Configure(before.lm, before.adapter);
}

class StateTest : public ::testing::Test {
 protected:
  StateTest() : path_(fs::temp_directory_path() / ("dspy_state_edges_" + std::to_string(::getpid()))) {}
  ~StateTest() override { fs::remove(path_); }

  std::string ErrorOfFile(const std::string& text) {
    std::ofstream(path_) << text;
    const auto loaded = program_.Load(path_);
    return loaded ? "" : loaded.error().message;
  }
  std::string ErrorOfState(const std::function<void(boost::json::object&)>& change) {
    boost::json::object state = program_.DumpState();
    change(state);
    const auto loaded = program_.LoadState(state);
    return loaded ? "" : loaded.error().message;
  }

  fs::path path_;
  Predict program_{*Signature::Parse("q -> a")};
};

TEST_F(StateTest, AStateThatIsNotOneIsNamed) {
  const std::string self = "the state of the predictor 'self': ";
  const std::string needs = self + "it needs \"demos\", a list, and \"signature\", an object";
  EXPECT_EQ(ErrorOfState([](auto& s) { s.erase("demos"); }), needs);
  EXPECT_EQ(ErrorOfState([](auto& s) { s["demos"] = 1; }), needs);
  EXPECT_EQ(ErrorOfState([](auto& s) { s.erase("signature"); }), needs);
  EXPECT_EQ(ErrorOfState([](auto& s) { s["signature"] = 1; }), needs);
  EXPECT_EQ(ErrorOfState([](auto& s) { s["lm"] = "m"; }),
            self + "it has a model of its own, \"lm\"; set it to null there, and give the predictor its model");
  EXPECT_EQ(ErrorOfState([](auto& s) { s["extended_signature"] = 1; }),
            self + "states of DSPy 2.5 and before are not read");
  EXPECT_EQ(ErrorOfState([](auto& s) { s["odd"] = 1; }), self + "\"odd\" is not known");
  EXPECT_EQ(ErrorOfState([](auto& s) { s["demos"] = boost::json::array{1}; }),
            self + "a demonstration must be an object");
  EXPECT_EQ(ErrorOfState([](auto& s) { s["signature"].as_object().erase("fields"); }),
            self + "the state of 'q -> a' needs \"instructions\", a text, and \"fields\", a list");
  EXPECT_EQ(ErrorOfState([](auto& s) {
              s.erase("lm");
              s["traces"] = s["train"] = s["metadata"] = 1;
              s["demos"] = boost::json::array{{{"q", "x"}}};
            }),
            "");
  ASSERT_EQ(program_.demos().size(), 1u);
  EXPECT_EQ(JsonDumps(program_.demos()[0].values()), R"({"q": "x"})");
}

TEST_F(StateTest, AFileThatIsNoStateIsNamed) {
  EXPECT_EQ(ErrorOfFile("[]"), "the state " + path_.string() + " is no JSON object");
  EXPECT_EQ(ErrorOfFile("{"), "the state " + path_.string() + " is no JSON object");
  fs::resize_file(path_, (256 << 20) + 1);
  EXPECT_EQ(program_.Load(path_).error().message,
            "the state " + path_.string() + " has 268435457 bytes; at most 268435456 are read");
  fs::remove(path_);
  EXPECT_EQ(program_.Load(path_).error().message,
            "the state " + path_.string() + " cannot be read: No such file or directory");
  EXPECT_EQ(program_.Save("/no/such/file").error().message, "the state cannot be written to /no/such/file");
  ASSERT_TRUE(program_.Save(path_));
  std::ifstream file(path_);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(text.starts_with("{\n  \"traces\": [],\n")) << text;
  EXPECT_TRUE(text.ends_with("  \"metadata\": {\n    \"dependency_versions\": {}\n  }\n}\n")) << text;
  EXPECT_TRUE(program_.Load(path_));
}

TEST(LiteralSearchTest, AnObjectIsLookedForUpTo256Times) {
  const auto found = [](const std::string& text) {
    const auto object = FindJsonObject(text);
    return object ? JsonDumps(*object) : "-";
  };
  const std::string good = "{\"a\": 1}";
  EXPECT_EQ(found(std::string(255, '{') + " x " + good), R"({"a": 1})");
  EXPECT_EQ(found(std::string(256, '{') + " x " + good), "-");
  std::string fences;
  for (int i = 0; i < 255; ++i) fences += "```x```";
  const std::string bare = "{\"b\": 2} ";
  EXPECT_EQ(found(bare + fences + "```" + good + "```"), R"({"a": 1})") << "fences come first";
  EXPECT_EQ(found(bare + fences + "```x``````" + good + "```"), R"({"b": 2})");
  EXPECT_EQ(found("[{\"a\": 1}]"), R"({"a": 1})");
  EXPECT_EQ(found("``` [1] ``` x {\"a\": 1} {\"b\": 2}"), R"({"a": 1})");
  EXPECT_EQ(found("```\n{\"a\": 1}"), R"({"a": 1})") << "a fence that does not end";
}

}  // namespace
}  // namespace inferflux::dspy
