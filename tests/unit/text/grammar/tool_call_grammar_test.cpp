#include "text/grammar/tool_call_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

using testing::CompileOrFail;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Matches;

const ToolCallSpec::Tool kWeather = {
    "get_weather", R"({"type":"object","properties":{"city":{"enum":["Oslo","Rome"]}},"required":["city"]})"};
const ToolCallSpec::Tool kAnything = {"note", ""};

GrammarSpec Calls(std::vector<ToolCallSpec::Tool> tools, bool forced, bool several) {
  return {.kind = GrammarSpec::Kind::kToolCalls, .tool_calls = {std::move(tools), forced, several}};
}

constexpr const char* kOslo =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
constexpr const char* kNote = R"(<tool_call>{"name":"note","arguments":{"a":[1,{}]}}</tool_call>)";

TEST(ToolCallGrammarTest, AForcedAnswerIsCallsAndNothingElse) {
  const auto several = CompileOrFail(Calls({kWeather, kAnything}, true, true));
  const auto one = CompileOrFail(Calls({kWeather, kAnything}, true, false));
  for (const auto& grammar : {several, one}) {
    EXPECT_TRUE(Matches(grammar, kOslo));
    EXPECT_TRUE(Matches(grammar, kNote));
    for (const char* text :
         {"", "Hello", "<tool_call>", R"(<tool_call>{"name":"other","arguments":{}}</tool_call>)",
          R"(<tool_call>{"name":"get_weather","arguments":{"city":"Bonn"}}</tool_call>)",
          R"(<tool_call>{"name":"get_weather","arguments":{}}</tool_call>)",
          R"(<tool_call>{"name":"note","arguments":[]}</tool_call>)", R"(<tool_call>{"name":"note"}</tool_call>)"}) {
      EXPECT_FALSE(Matches(grammar, text)) << text;
    }
    EXPECT_FALSE(Matches(grammar, std::string(kOslo) + " and so on"));
  }
  const std::string two = std::string(kOslo) + "\n" + kNote;
  EXPECT_TRUE(Matches(several, two));
  EXPECT_FALSE(Matches(one, two));
}

TEST(ToolCallGrammarTest, OtherwiseTextMayStandAroundCallsButNoOtherCall) {
  const auto several = CompileOrFail(Calls({kWeather, kAnything}, false, true));
  const auto one = CompileOrFail(Calls({kWeather, kAnything}, false, false));
  const std::string call = kOslo;
  for (const auto& grammar : {several, one}) {
    for (const std::string& text : {std::string(), std::string("Hello"), std::string("a < b <tool <tool_call <<tool_"),
                                    call, "日本 <" + call, "Let me see.\n" + call, "<tool_call<" + call}) {
      EXPECT_TRUE(Matches(grammar, text)) << text;
    }
    for (const char* text : {"<tool_call>", "see <tool_call>x</tool_call>", "<<tool_call>",
                             R"(<tool_call>{"name":"get_weather","arguments":{"city":1}}</tool_call>)"}) {
      EXPECT_FALSE(Matches(grammar, text)) << text;
    }
  }
  EXPECT_TRUE(Matches(several, call + "\n" + kNote + " done"));
  EXPECT_FALSE(Matches(one, call + "\n" + kNote));
  EXPECT_FALSE(Matches(one, call + " done"));
}

// Of random texts from the tag's own letters, those without the tag and no others.
TEST(ToolCallGrammarTest, TextIsFreeUntilTheTag) {
  const auto grammar = CompileOrFail(Calls({kAnything}, false, true));
  std::mt19937 random(5);
  const std::string letters = "<<<tol_ca>x";
  int with_tag = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    while (text.size() < 24) {
      if (random() % 8 == 0) {
        text += kToolCallOpen.substr(0, random() % (kToolCallOpen.size() + 1));
      } else {
        text += letters[random() % letters.size()];
      }
    }
    const bool has_tag = text.find(kToolCallOpen) != std::string::npos;
    with_tag += has_tag ? 1 : 0;
    ASSERT_EQ(Matches(grammar, text), !has_tag) << text;
  }
  EXPECT_GT(with_tag, 1000);
}

TEST(ToolCallGrammarTest, ArgumentsAreObjectsWhateverTheirSchemaAllowsBeside) {
  const auto call = [](const std::string& arguments) {
    return R"(<tool_call>{"name":"f","arguments":)" + arguments + "}</tool_call>";
  };
  for (const char* schema : {"{}", R"({"type":["object","null"]})", R"({"type":"object","nullable":true})",
                             R"({"$ref":"#/$defs/x","$defs":{"x":{"additionalProperties":true}}})"}) {
    const auto grammar = CompileOrFail(Calls({{"f", schema}}, true, false));
    EXPECT_TRUE(Matches(grammar, call(R"({"a":1})"))) << schema;
    for (const char* other : {"null", "1", "[]", "\"\""}) EXPECT_FALSE(Matches(grammar, call(other))) << schema;
  }
  // References of each tool lead into its own schema.
  const auto both = CompileOrFail(
      Calls({{"f", R"({"properties":{"v":{"$ref":"#/$defs/v"}},"required":["v"],"$defs":{"v":{"const":1}}})"},
             {"g", R"({"properties":{"v":{"$ref":"#/$defs/v"}},"required":["v"],"$defs":{"v":{"const":2}}})"}},
            true, false));
  EXPECT_TRUE(Matches(both, call(R"({"v":1})")));
  EXPECT_FALSE(Matches(both, call(R"({"v":2})")));
  EXPECT_TRUE(Matches(both, R"(<tool_call>{"name":"g","arguments":{"v":2}}</tool_call>)"));
}

TEST(ToolCallGrammarTest, WhatCannotBeHonouredNamesTheTool) {
  EXPECT_THAT(ErrorOf(Calls({kWeather, {"f", R"({"type":"string"})"}}, true, true)),
              HasSubstr("the parameters of 'f': at #/type: arguments are objects"));
  EXPECT_THAT(ErrorOf(Calls({{"f", R"({"properties":{"a":{"unevaluatedItems":false}}})"}}, true, true)),
              HasSubstr("the parameters of 'f': at #/properties/a/unevaluatedItems"));
  EXPECT_THAT(ErrorOf(Calls({{"f", "[]"}}, true, true)), HasSubstr("the parameters of 'f'"));
  EXPECT_THAT(ErrorOf(Calls({}, true, true)), HasSubstr("no tool"));
}

}  // namespace
}  // namespace inferflux::text
