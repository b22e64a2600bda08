#include "text/tool_calls/grammar/tool_call_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <random>

#include "text/grammar/grammar_text.h"
#include "text/tool_calls/marker.h"
#include "text/tool_calls/tool_call_parser.h"
#include "text/tool_calls/tool_call_samples.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

using testing::CompileOrFail;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::kToolCallSamples;
using testing::Matches;
using testing::ToolCallSample;
using testing::Written;

const OfferedTool kWeather = {
    "get_weather", R"({"type":"object","properties":{"city":{"enum":["Oslo","Rome"]}},"required":["city"]})"};
const OfferedTool kAnything = {"note", ""};

GrammarSpec Calls(std::vector<OfferedTool> tools, bool forced, bool several,
                  const ToolCallSyntax& syntax = HermesSyntax()) {
  return {.kind = GrammarSpec::Kind::kToolCalls,
          .tool_calls = {.syntax = &syntax, .tools = std::move(tools), .forced = forced, .several = several}};
}

constexpr const char* kOslo =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
constexpr const char* kNote = R"(<tool_call>{"name":"note","arguments":{"a":[1,{}]}}</tool_call>)";

// The input of a custom tool is a JSON string, so its grammar constrains the text before the escapes.
TEST(ToolCallGrammarTest, ACustomToolsInputMatchesItsGrammar) {
  const OfferedTool custom = {
      "run", "", "start: \"say \\\"\" words \"\\\"\\n\"\nwords: words \", \" WORD | WORD\nWORD: /[a-z\\\\é]{1,3}/"};
  const auto input = CompileOrFail({.kind = GrammarSpec::Kind::kLark, .source = custom.lark});
  std::mt19937 random(5);
  int read = 0;
  for (const ToolCallSyntax& syntax : ToolCallSyntaxes()) {
    SCOPED_TRACE(syntax.id);
    if (syntax.body == CallBody::kTagged || syntax.values != ValueSyntax::kJson) {
      EXPECT_THAT(ErrorOf(Calls({custom}, true, false, syntax)), HasSubstr("does not write arguments as JSON"));
      continue;
    }
    const auto grammar = CompileOrFail(Calls({custom}, true, false, syntax));
    for (int i = 0; i < 10; ++i) {
      const std::string text = testing::RandomText(grammar, random);
      ToolCallParser parser(syntax, std::make_shared<const std::vector<OfferedTool>>(1, custom), {});
      std::vector<FoundToolCall> calls = parser.Feed(text).calls;
      for (FoundToolCall& call : parser.Finish().calls) calls.push_back(std::move(call));
      ASSERT_EQ(calls.size(), 1u) << text;
      const json::value arguments = json::parse(calls[0].arguments);
      EXPECT_TRUE(Matches(input, std::string(arguments.at("input").as_string()))) << text;
      EXPECT_EQ(arguments.as_object().size(), 1u);
      ++read;
    }
  }
  EXPECT_GT(read, 100);
}

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

// Of random texts of the tag's letters, it accepts exactly those without the tag.
TEST(ToolCallGrammarTest, TextIsFreeUntilTheTag) {
  const auto grammar = CompileOrFail(Calls({kAnything}, false, true));
  std::mt19937 random(5);
  constexpr std::string_view kToolCallOpen = "<tool_call>";
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
  // References of each tool refer to its own schema.
  const auto both = CompileOrFail(
      Calls({{"f", R"({"properties":{"v":{"$ref":"#/$defs/v"}},"required":["v"],"$defs":{"v":{"const":1}}})"},
             {"g", R"({"properties":{"v":{"$ref":"#/$defs/v"}},"required":["v"],"$defs":{"v":{"const":2}}})"}},
            true, false));
  EXPECT_TRUE(Matches(both, call(R"({"v":1})")));
  EXPECT_FALSE(Matches(both, call(R"({"v":2})")));
  EXPECT_TRUE(Matches(both, R"(<tool_call>{"name":"g","arguments":{"v":2}}</tool_call>)"));
}

// By format, as chat templates write calls.

const OfferedTool kLookUp = {
    "look_up",
    R"({"type":"object","properties":{"word":{"enum":["heron","a < b"]},"pages":{"type":"integer","minimum":0,
                   "maximum":99}},"required":["word","pages"]})"};
const OfferedTool kRing = {"ring", R"({"type":"object","additionalProperties":false})"};

template <typename Take>
void ForEachSyntax(const Take& take) {
  for (const ToolCallSyntax& syntax : ToolCallSyntaxes()) {
    const auto sample = std::ranges::find(kToolCallSamples, syntax.id, &ToolCallSample::syntax);
    ASSERT_NE(sample, std::end(kToolCallSamples)) << syntax.id;
    SCOPED_TRACE(syntax.id);
    take(syntax, *sample);
  }
}

TEST(ToolCallGrammarTest, EveryFormIsForced) {
  ForEachSyntax([](const ToolCallSyntax& syntax, const ToolCallSample& sample) {
    const std::string one = Written(sample, {{"heron", "3"}}), two = Written(sample, {{"heron", "3"}, {"a < b", "4"}});
    const auto forced = CompileOrFail(Calls({kLookUp, kRing}, true, true, syntax));
    const auto single = CompileOrFail(Calls({kLookUp, kRing}, true, false, syntax));
    const auto free = CompileOrFail(Calls({kLookUp, kRing}, false, true, syntax));
    const auto free_single = CompileOrFail(Calls({kLookUp, kRing}, false, false, syntax));
    EXPECT_TRUE(Matches(forced, one) && Matches(single, one) && Matches(free, one) && Matches(free_single, one));
    EXPECT_TRUE(Matches(forced, two) && Matches(free, two)) << two;
    EXPECT_FALSE(Matches(single, two) || Matches(free_single, two));
    for (const std::string& text : {std::string(), std::string("Hello."), Written(sample, {{"other", "3"}}),
                                    Written(sample, {{"heron", "100"}}), Written(sample, {{"heron", "\"3\""}})}) {
      EXPECT_FALSE(Matches(forced, text)) << text;
    }
    EXPECT_FALSE(Matches(forced, "Well. " + one));
    EXPECT_TRUE(Matches(free, "Well. " + one));
    EXPECT_TRUE(Matches(free, "") && Matches(free, "Hello < [ { there. 日本"));
    EXPECT_FALSE(Matches(free, Written(sample, {{"other", "3"}})));
    EXPECT_FALSE(Matches(free, "Well. " + std::string(TrimEnd(FirstMarker(syntax))) + " x"))
        << "a marker without a call";
  });
}

// Arguments of kLookUp in the schema's order, as the grammar requires.
std::string WordFirst(const std::string& arguments) {
  const json::object found = json::parse(arguments).as_object();
  if (found.size() != 2) return arguments;
  return json::serialize(json::object{{"word", found.at("word")}, {"pages", found.at("pages")}});
}

// The parser finds every call that the grammar allows: random texts, byte by byte.
TEST(ToolCallGrammarTest, WhateverAFormAllowsIsReadAsValidCalls) {
  std::mt19937 random(7);
  const auto tools = std::make_shared<const std::vector<OfferedTool>>(std::vector<OfferedTool>{kLookUp, kRing});
  ForEachSyntax([&](const ToolCallSyntax& syntax, const ToolCallSample&) {
    const auto grammar = CompileOrFail(Calls(*tools, true, true, syntax));
    size_t rings = 0, several = 0;
    for (int i = 0; i < 200; ++i) {
      const std::string text = testing::RandomText(grammar, random);
      ToolCallParser parser(syntax, tools, {});
      ToolCallParser::Output out = parser.Feed(text);
      ToolCallParser::Output rest = parser.Finish();
      EXPECT_EQ(out.content + rest.content, "") << text;
      out.calls.insert(out.calls.end(), rest.calls.begin(), rest.calls.end());
      ASSERT_FALSE(out.calls.empty()) << text;
      several += out.calls.size() > 1 ? 1 : 0;
      for (const FoundToolCall& call : out.calls) {
        const auto& schema = call.name == "ring" ? kRing.parameters : kLookUp.parameters;
        if (call.name == "ring") {
          ++rings;
        } else {
          EXPECT_EQ(call.name, "look_up") << text;
        }
        EXPECT_TRUE(Matches(CompileOrFail(testing::Schema(schema)), WordFirst(call.arguments))) << call.arguments;
      }
    }
    EXPECT_GT(rings, 20u);
    EXPECT_GT(several, 20u);
  });
}

// The grammar cannot enforce a string's keywords in free text. It enforces all keywords of other types, as in other
// JSON.
TEST(ToolCallGrammarTest, TextBetweenTagsIsOfItsType) {
  const auto glm = std::ranges::find(ToolCallSyntaxes(), "glm", &ToolCallSyntax::id);
  const auto coder = std::ranges::find(ToolCallSyntaxes(), "qwen coder", &ToolCallSyntax::id);
  const std::string parameters =
      R"({"type":"object","properties":{"code":{"type":"string"},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
          "place":{"$ref":"#/$defs/place"},"kind":{"enum":["a","b"]}},"required":["code"],"additionalProperties":false,
          "$defs":{"place":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],
                            "additionalProperties":false}}})";
  const auto lines = CompileOrFail(Calls({{"f", parameters}}, true, false, *coder));
  const auto call = [](const std::string& arguments) {
    return "<tool_call>\n<function=f>\n" + arguments + "</function>\n</tool_call>";
  };
  const auto argument = [](const std::string& name, const std::string& value) {
    return "<parameter=" + name + ">\n" + value + "\n</parameter>\n";
  };
  const std::string code = argument("code", "if (a < b) {\n  \"日本\"\n}\n");
  EXPECT_TRUE(Matches(lines, call(code)));
  EXPECT_TRUE(Matches(lines, call(code + argument("note", "null") + argument("place", R"({"x": 1})"))));
  EXPECT_TRUE(Matches(lines, call(code + argument("kind", "a"))));
  for (const std::string& wrong :
       {std::string(), argument("note", "n"), code + argument("place", "1"), code + argument("place", R"({"y": 1})"),
        code + argument("kind", "c"), code + argument("other", "1"), code + code}) {
    EXPECT_FALSE(Matches(lines, call(wrong))) << wrong;
  }
  const auto anything = CompileOrFail(Calls({{"f", ""}}, true, false, *glm));
  EXPECT_TRUE(Matches(anything, "<tool_call>f\n<arg_key>any</arg_key>\n<arg_value>x y</arg_value>\n</tool_call>"));
  for (const auto& [property, where] :
       {std::pair{R"({"type":"string","pattern":"a"})", "#/properties/p/pattern"},
        {R"({"type":["string","integer"]})", "#/properties/p/type"},
        {R"({"anyOf":[{"type":"string"},{"type":"integer"}]})", "#/properties/p/anyOf"}}) {
    const std::string schema = R"({"type":"object","properties":{"p":)" + std::string(property) + "}}";
    EXPECT_THAT(ErrorOf(Calls({{"f", schema}}, true, true, *glm)),
                HasSubstr("the parameters of 'f': at " + std::string(where)));
  }
}

TEST(ToolCallGrammarTest, ANameInATagHasLettersDigitsAndFewSigns) {
  const auto elements = std::ranges::find(ToolCallSyntaxes(), ValueSyntax::kElements, &ToolCallSyntax::values);
  const auto error = [&](const std::string& name) {
    const std::string schema = R"({"type":"object","properties":{")" + name + R"(":{"type":"integer"}}})";
    return ErrorOf(Calls({{"f", schema}}, true, true, *elements));
  };
  for (const char* name : {"a", "z", "A", "Z", "0", "9", "_", "-", ".", "line_2", "a-b.C", "日本"}) {
    EXPECT_EQ(error(name), "") << name;
  }
  EXPECT_EQ(error(std::string(256, 'n')), "");
  EXPECT_THAT(error(std::string(257, 'n')), HasSubstr("cannot be used in a tag"));
  for (const std::string& name : {std::string("a b"), std::string("a/b"), std::string("a:b"), std::string("a@"),
                                  std::string("["), std::string("`"), std::string("{"), std::string()}) {
    EXPECT_THAT(error(name), HasSubstr("at #/properties/" + name + ": cannot be used in a tag")) << name;
  }
}

TEST(ToolCallGrammarTest, ListedTextBetweenTagsIsOneOfItsList) {
  const auto coder = std::ranges::find(ToolCallSyntaxes(), "qwen coder", &ToolCallSyntax::id);
  const auto taken = [&](const std::string& schema) {
    const std::string parameters = R"({"type":"object","properties":{"p":)" + schema + R"(},"required":["p"]})";
    const auto grammar = CompileOrFail(Calls({{"f", parameters}}, true, false, *coder));
    if (!grammar) return std::string("refused");
    std::string out;
    for (const char* value : {"a", "b", "c", "null"}) {
      const std::string call = "<tool_call>\n<function=f>\n<parameter=p>\n" + std::string(value) +
                               "\n</parameter>\n</function>\n</tool_call>";
      if (Matches(grammar, call)) out += std::string(value) + " ";
    }
    return out;
  };
  EXPECT_EQ(taken(R"({"enum":["a","b"]})"), "a b ");
  EXPECT_EQ(taken(R"({"type":"string","enum":["a","b"]})"), "a b ");
  EXPECT_EQ(taken(R"({"enum":["b"],"type":["string","null"]})"), "b ");
  EXPECT_EQ(taken(R"({"type":"string","const":"c"})"), "c ");
  EXPECT_EQ(taken(R"({"const":"c","title":"t","type":"string"})"), "c ");
  EXPECT_EQ(taken(R"({"anyOf":[{"type":"string","const":"b"},{"type":"null"}]})"), "b null ");
  EXPECT_EQ(taken(R"({"type":"null"})"), "null ");
  EXPECT_EQ(taken(R"({"type":["string","null"]})"), "a b c null ");
  EXPECT_EQ(taken("true"), "a b c null ");
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
