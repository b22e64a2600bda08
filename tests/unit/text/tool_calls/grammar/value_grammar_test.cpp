// Calls with arguments in a model's own syntax, constrained by their tools' schemas.
#include "text/tool_calls/grammar/value_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "text/grammar/grammar_text.h"
#include "text/tool_calls/grammar/forced_call.h"
#include "text/tool_calls/grammar/tool_call_grammar.h"
#include "text/tool_calls/syntax_of.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::text {
namespace {

using testing::CompileOrFail;
using testing::ErrorOf;
using testing::ForcedCall;
using ::testing::HasSubstr;
using testing::Matches;
using testing::SyntaxOf;

std::string Property(const std::string& schema) {
  return R"({"type":"object","properties":{"p":)" + schema + R"(},"required":["p"],"additionalProperties":false})";
}

// Expects the schema of the argument `p` to allow the valid values and to reject the invalid ones.
void ExpectMarked(const std::string& schema, std::initializer_list<const char*> valid,
                  std::initializer_list<const char*> invalid) {
  const auto grammar = CompileOrFail(ForcedCall("gemma 4", Property(schema)));
  ASSERT_TRUE(grammar);
  const auto call = [](std::string_view value) {
    return "<|tool_call>call:f{p:" + std::string(value) + "}<tool_call|>";
  };
  for (const char* value : valid) EXPECT_TRUE(Matches(grammar, call(value))) << schema << "\nrefuses " << value;
  for (const char* value : invalid) EXPECT_FALSE(Matches(grammar, call(value))) << schema << "\ntakes " << value;
}

TEST(ValueGrammarTest, MarkedValuesAreOfTheirTypes) {
  ExpectMarked(R"({"type":"string"})", {R"(<|"|><|"|>)", R"(<|"|>a "b" \ } <tool_call|> <|"< 日本<|"|>)"},
               {"x", "\"x\"", "1", R"(<|"|>x)", R"(<|"|>x<|"|>y<|"|>)"});
  ExpectMarked(R"({"type":"integer","minimum":-5,"maximum":20})", {"0", "20", "-5"}, {"21", "1.5", R"(<|"|>1<|"|>)"});
  ExpectMarked(R"({"type":"number"})", {"1e5", "-0", "2.5"}, {"nan", "+1", ".5"});
  ExpectMarked(R"({"type":["boolean","null"]})", {"true", "false", "null", "None"}, {"True", "0"});
  ExpectMarked(R"({"type":"string","nullable":true})", {R"(<|"|>x<|"|>)", "None"}, {"true"});
  ExpectMarked(R"({"enum":["a b",3,null,{"k":["v"]}]})", {R"(<|"|>a b<|"|>)", "3", "None", R"({k:[<|"|>v<|"|>]})"},
               {"a b", R"(<|"|>3<|"|>)", R"({<|"|>k<|"|>:[<|"|>v<|"|>]})"});
  ExpectMarked(R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2})", {"[1]", "[1,2]", "[1, 2]"},
               {"[]", "[1,2,3]", "[None]"});
  ExpectMarked(R"({"type":"object","properties":{"x":{"$ref":"#/properties/p/$defs/x"}},"required":["x"],
                   "additionalProperties":false,"$defs":{"x":{"const":1}}})",
               {"{x:1}"}, {"{}", "{x:2}", "{x:1,y:2}", R"({"x":1})"});
  ExpectMarked("{}", {"{}", R"({a:[1,{b-c:<|"|>x<|"|>}],d:None})"}, {"{a}", R"({"a":1})", "{a b:1}"});
}

// Whatever its other keywords, a string never contains the mark, which would end it.
TEST(ValueGrammarTest, MarkedStringsAreHeldToTheirKeywords) {
  ExpectMarked(R"({"type":"string","minLength":1})", {R"(<|"|>x<|"|>)", R"(<|"|><|"<|"|>)"},
               {R"(<|"|><|"|>)", R"(<|"|><|"|><|"|>)"});
  ExpectMarked(R"({"type":"string","maxLength":5})", {R"(<|"|><|"|x<|"|>)"},
               {R"(<|"|>123456<|"|>)", R"(<|"|><|"|><|"|>)"});
  ExpectMarked(R"({"type":"string","minLength":2,"maxLength":2000})", {R"(<|"|>a < b<|"|>)"},
               {R"(<|"|>x<|"|>)", R"(<|"|><|"|>x<|"|>)"});
  ExpectMarked(R"({"type":"string","pattern":"^a.*z$"})", {R"(<|"|>az<|"|>)", R"(<|"|>a<|"z<|"|>)"},
               {R"(<|"|>a<|"|>)", R"(<|"|>a<|"|>z<|"|>)"});
  ExpectMarked(R"({"type":"string","pattern":"^a.*z$","maxLength":3})", {R"(<|"|>abz<|"|>)"}, {R"(<|"|>abbz<|"|>)"});
  ExpectMarked(R"({"type":"string","format":"date"})", {R"(<|"|>2026-02-28<|"|>)"}, {R"(<|"|>today<|"|>)"});
  ExpectMarked(R"({"type":"string","not":{"const":"x"}})", {R"(<|"|>y<|"|>)"}, {R"(<|"|>x<|"|>)"});
}

TEST(ValueGrammarTest, NamesOfMarkedMembersAreHeldToTheirSchemas) {
  ExpectMarked(R"({"type":"object","properties":{"ab":{"const":1}},"additionalProperties":{"const":2}})",
               {"{}", "{ab:1}", "{ab:1,b:2}", "{a:2,abc:2}", "{größe:2}"},
               {"{ab:2}", "{ab:1,ab:2}", "{a:1}", "{a b:2}"});
  ExpectMarked(R"({"type":"object","patternProperties":{"^x-":{"const":1}},"additionalProperties":false})",
               {"{}", "{x-a:1}"}, {"{a:1}", "{x-a:2}", "{x-:}"});
}

void ExpectPython(const std::string& schema, std::initializer_list<const char*> valid,
                  std::initializer_list<const char*> invalid) {
  const auto grammar = CompileOrFail(ForcedCall("lfm", Property(schema)));
  ASSERT_TRUE(grammar);
  const auto call = [](std::string_view value) {
    return "<|tool_call_start|>[f(p=" + std::string(value) + ")]<|tool_call_end|>";
  };
  for (const char* value : valid) EXPECT_TRUE(Matches(grammar, call(value))) << schema << "\nrefuses " << value;
  for (const char* value : invalid) EXPECT_FALSE(Matches(grammar, call(value))) << schema << "\ntakes " << value;
}

TEST(ValueGrammarTest, PythonsValuesAreOfTheirTypes) {
  ExpectPython(R"({"type":"string"})", {R"("")", "''", R"("it's \"\n\u00e9 日本")", R"('"it\'s"')"},
               {"x", R"("x')", "'it's'", R"("\d")", R"("\ud83d")", "'a\nb'", "'''x'''", "1"});
  ExpectPython(R"({"type":"integer","minimum":-5,"maximum":20})", {"0", "20", "-5"}, {"21", "1.5", "'1'", "True"});
  ExpectPython(R"({"type":"number"})", {"1e5", "-0", "2.5"}, {"nan", "+1", ".5"});
  ExpectPython(R"({"type":["boolean","null"]})", {"True", "False", "true", "None", "null"}, {"TRUE", "0", "'True'"});
  ExpectPython(R"({"enum":["it's",3,null,{"k":["v"]}]})",
               {R"("it's")", R"('it\'s')", "3", "None", R"({'k':["v"]})", R"({"k": ['v']})"},
               {"'its'", "'3'", "{k:['v']}"});
  ExpectPython(R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2})", {"[1]", "[1, 2]"},
               {"[]", "[1,2,3]", "[None]", "(1,2)"});
  ExpectPython(
      R"({"type":"object","properties":{"x":{"const":1}},"required":["x"],"additionalProperties":{"const":2}})",
      {"{'x': 1}", R"({"x": 1, 'it\'s': 2})"}, {"{}", "{'x': 2}", R"({'x': 1, "x": 2})", "{'x': 1, 'y': 1}"});
  ExpectPython("{}", {"{}", R"({"a b": [1, {'c': "x"}]})"}, {"{a: 1}", "f()"});
}

TEST(ValueGrammarTest, PythonsStringsAreHeldToTheirKeywords) {
  ExpectPython(R"({"type":"string","minLength":1,"maxLength":2})", {"'x'", R"("\n'")", R"('\u00e9"')"},
               {"''", "'xyz'"});
  ExpectPython(R"({"type":"string","pattern":"^['\"x]+$"})", {R"('\'"x')", R"("'\"x")"}, {"''", "'y'", "''x'"});
  ExpectPython(R"({"type":"string","format":"date"})", {"'2026-02-28'", R"("2026-02-28")"}, {"'today'"});
  ExpectPython(R"({"type":"object","patternProperties":{"^x'":{"const":1}},"additionalProperties":false})",
               {"{}", R"({"x'a": 1})", R"({'x\'a': 1})"}, {"{'x': 1}"});
}

TEST(ValueGrammarTest, PythonsArgumentsComeInTheSchemasOrder) {
  const auto call = [](std::string_view arguments) {
    return "<|tool_call_start|>[f(" + std::string(arguments) + ")]<|tool_call_end|>";
  };
  const auto some = CompileOrFail(ForcedCall(
      "lfm", R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"$ref":"#/$defs/b"},"c":{"type":"integer"}},
                 "required":["b"],"$defs":{"b":{"const":2}},"description":"F."})"));
  for (const char* valid : {"b=2", "a=1, b=2", "a=1,b=2,c=3", "b=2, c=3", "\n\n  a=1,\n  b=2\n"}) {
    EXPECT_TRUE(Matches(some, call(valid))) << valid;
  }
  for (const char* invalid : {"", "a=1", "b=1", "b=2,", ",b=2", "b=2,a=1", "a=1,a=1,b=2", "b=2,d=4", "2", "a=1 b=2"}) {
    EXPECT_FALSE(Matches(some, call(invalid))) << invalid;
  }
  const auto free = CompileOrFail(ForcedCall("lfm", R"({"properties":{"a":{"const":1},"b":{"const":2}}})"));
  for (const char* valid : {"", "a=1", "b=2", "a=1, b=2"}) EXPECT_TRUE(Matches(free, call(valid))) << valid;
  for (const char* invalid : {"a=1,", "b=2, a=1"}) EXPECT_FALSE(Matches(free, call(invalid))) << invalid;
  for (const char* schema : {"", "{}", R"({"type":"object","additionalProperties":true})"}) {
    const auto any = CompileOrFail(ForcedCall("lfm", schema));
    EXPECT_TRUE(Matches(any, call("")) && Matches(any, call("x_1=[True], y={}"))) << schema;
    EXPECT_FALSE(Matches(any, call("1x=2")) || Matches(any, call("3"))) << schema;
  }
  const auto none = CompileOrFail(ForcedCall("lfm", R"({"type":"object","additionalProperties":false})"));
  EXPECT_TRUE(Matches(none, call("")));
  EXPECT_FALSE(Matches(none, call("x=1")));
}

TEST(ValueGrammarTest, WhatPythonCannotCallIsAnError) {
  for (const auto& [schema, where] :
       {std::pair(R"({"properties":{"a-b":{}}})", "at #/properties/a-b: "),
        {R"({"properties":{"1":{}}})", "at #/properties/1: "},
        {R"({"properties":{"":{}}})", "at #/properties/: "},
        {R"({"properties":{"a":{"uniqueItems":true,"items":{}}}})", "at #/properties/a: at #/uniqueItems: "},
        {R"({"properties":{"a":{}},"required":["b"]})", "at #/required: "},
        {R"({"anyOf":[{"required":["a"]}]})", "at #/anyOf: "},
        {R"({"additionalProperties":{"type":"string"}})", "at #/additionalProperties: "},
        {R"({"type":"array"})", "at #/type: "}}) {
    EXPECT_THAT(ErrorOf(ForcedCall("lfm", schema)), HasSubstr("the parameters of 'f': " + std::string(where)))
        << schema;
  }
}

// '~' represents the mark.
std::string WithMarks(std::string_view shorthand) {
  std::string out;
  for (const char c : shorthand) out += c == '~' ? std::string("]<]minimax[>[") : std::string(1, c);
  return out;
}

std::string ElementCall(std::string_view arguments) {
  return WithMarks("~<tool_call>\n~<invoke name=\"f\">" + std::string(arguments) + "~</invoke>\n~</tool_call>");
}

void ExpectElements(const std::string& schema, std::initializer_list<const char*> valid,
                    std::initializer_list<const char*> invalid) {
  const auto grammar = CompileOrFail(ForcedCall("minimax 3", Property(schema)));
  ASSERT_TRUE(grammar);
  const auto call = [](std::string_view value) { return ElementCall("~<p>" + std::string(value) + "~</p>"); };
  for (const char* value : valid) EXPECT_TRUE(Matches(grammar, call(value))) << schema << "\nrefuses " << value;
  for (const char* value : invalid) EXPECT_FALSE(Matches(grammar, call(value))) << schema << "\ntakes " << value;
}

TEST(ValueGrammarTest, ElementsAreOfTheirTypes) {
  ExpectElements(R"({"type":"string"})", {"", "x", " \"a\" </p> ]<] <item> 日本\n"}, {"~", "~<k>v~</k>", "x~</q>"});
  ExpectElements(R"({"type":"string","minLength":2,"maxLength":900})", {"ab", "a < b"}, {"", "a", "~ab"});
  ExpectElements(R"({"type":"string","pattern":"^a+$"})", {"a", "aa"}, {"", "b"});
  ExpectElements(R"({"type":"integer","minimum":0,"maximum":9})", {"0", "9"}, {"10", "x", "\"1\""});
  ExpectElements(R"({"type":["boolean","null"]})", {"true", "false", "null"}, {"True", "x", ""});
  ExpectElements(R"({"enum":["a b","~",null]})", {"a b", "null"}, {"b", "\"a b\""});
  ExpectElements(R"({"type":"string","enum":["a",null],"maxLength":3})", {"a"}, {"null"});
  ExpectElements(R"({"enum":[1,2.5,true]})", {"1", "2.5", "true"}, {"\"1\"", "2", "null"});
  ExpectElements(
      R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2})",
      {"~<item>1~</item>", "~<item>1~</item>\n~<item>2~</item>"},
      {"", "1", "[1]", "~<item>x~</item>", "~<a>1~</a>", "~<item>1~</item>~<item>1~</item>~<item>1~</item>"});
  ExpectElements(R"({"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"string"}},"required":["y"],
                     "additionalProperties":false})",
                 {"~<x>1~</x>~<y>2~</y>", "~<y>~</y>"}, {"", "~<x>1~</x>", "~<y>1~</y>~<x>1~</x>", "~<y>1~</x>"});
  ExpectElements(R"({"anyOf":[{"$ref":"#/properties/p/$defs/t"},{"type":"null"}],
                     "$defs":{"t":{"type":"object","properties":{"t":{"$ref":"#/properties/p/$defs/t"}}}}})",
                 {"", "null", "~<t>~<t>~</t>~</t>"}, {"x", "~<t>null~</t>"});
  ExpectElements(R"({"type":"object","additionalProperties":{"type":"integer"}})", {"", "~<a-1>1~</a-1>"},
                 {"~<a>x~</a>", "~<>1~</>"});
  ExpectElements("{}", {"", "x", "~<a>~<b>1~</b>~</a>"}, {"~<a>1"});
}

TEST(ValueGrammarTest, WhatElementsCannotShowIsAnError) {
  for (const auto& [schema, where] :
       {std::pair(R"({"type":["string","integer"]})", "at #/properties/p/type"),
        {R"({"type":["array","object"]})", "at #/properties/p/type"},
        {R"({"enum":["1",1]})", "at #/properties/p/enum"},
        {R"({"const":{"a":1}})", "at #/properties/p/const"},
        {R"({"const":"]<]minimax[>["})", "at #/properties/p/const"},
        {R"({"anyOf":[{"type":"string"},{"type":"integer"}]})", "at #/properties/p/anyOf"},
        {R"({"oneOf":[{"type":"string"}]})", "at #/properties/p"},
        {R"({"type":"integer","nullable":true})", "at #/properties/p/nullable"},
        {R"({"type":"array","uniqueItems":true})", "at #/properties/p/uniqueItems"},
        {R"({"type":"object","minProperties":1})", "at #/properties/p/minProperties"},
        {R"({"properties":{"a b":{}},"type":"object"})", "at #/properties/p/properties/a b"},
        {R"({"items":{"type":"string"}})", "at #/properties/p"},
        {R"({"type":"object","required":["a"]})", "at #/properties/p/required"}}) {
    EXPECT_THAT(ErrorOf(ForcedCall("minimax 3", Property(schema))),
                HasSubstr("the parameters of 'f': " + std::string(where) + ": "))
        << schema;
  }
  const std::string long_name = R"({"type":"object","properties":{")" + std::string(300, 'x') + R"(":{}}})";
  EXPECT_THAT(ErrorOf(ForcedCall("minimax 3", long_name)), HasSubstr("cannot be used in a tag"));
  EXPECT_THAT(ErrorOf(ForcedCall("minimax 3", R"({"type":"array"})")), HasSubstr("the parameters of 'f': at #/type: "));
}

TEST(ValueGrammarTest, ListsOfElementsHaveTheirNumbers) {
  const std::string list = R"({"type":"array","items":{"type":"integer"},)";
  const char *none = "", *one = "~<item>1~</item>", *two = "~<item>1~</item>~<item>2~</item>";
  const char* three = "~<item>1~</item>~<item>2~</item>~<item>3~</item>";
  ExpectElements(list + R"("minItems":2,"maxItems":2})", {two}, {none, one, three});
  ExpectElements(list + R"("minItems":1,"maxItems":2})", {one, two}, {none, three});
  ExpectElements(list + R"("minItems":2})", {two, three}, {none, one});
  ExpectElements(list + R"("maxItems":1})", {none, one}, {two, three});
}

// Sorted as by the template: otherwise the model could not write an optional argument at its usual position.
TEST(ValueGrammarTest, SortedMembersComeInTheOrderOfTheirNames) {
  const auto grammar = CompileOrFail(ForcedCall(
      "gemma 4", R"({"properties":{"b":{"type":"integer"},"C":{"type":"integer"},"a":{"properties":{"z":{"const":1},
                     "y":{"const":2}}}},"required":["a"]})"));
  EXPECT_TRUE(Matches(grammar, "<|tool_call>call:f{a:{y:2,z:1},b:1,C:2}<tool_call|>"));
  EXPECT_FALSE(Matches(grammar, "<|tool_call>call:f{b:1,a:{}}<tool_call|>"));
}

TEST(ValueGrammarTest, WhatMarkedValuesCannotBeIsAnError) {
  for (const auto& [schema, where] : {std::pair(R"({"const":"a<|\"|>b"})", "at #/properties/p/const"),
                                      {R"({"enum":["x",["<|\"|>"]]})", "at #/properties/p/enum"},
                                      {R"({"properties":{"a b":{}}})", "at #/properties/p/properties/a b"},
                                      {R"({"properties":{"":{}}})", "at #/properties/p/properties/"},
                                      {R"({"const":{"a:b":1}})", "at #/properties/p/const"},
                                      {R"({"type":"string","pattern":"^<\\|\"\\|>$"})", "at #/properties/p"},
                                      {R"({"unevaluatedItems":false})", "at #/properties/p/unevaluatedItems"}}) {
    EXPECT_THAT(ErrorOf(ForcedCall("gemma 4", Property(schema))),
                HasSubstr("the parameters of 'f': " + std::string(where) + ": "))
        << schema;
  }
}

// The parser finds every call that the grammar allows, and its arguments are valid: random texts, byte by byte.
void ExpectRandomCallsAreValid(std::string_view syntax, const std::string& parameters) {
  const auto grammar = CompileOrFail(ForcedCall(syntax, parameters)),
             valid = CompileOrFail(testing::Schema(parameters));
  ASSERT_TRUE(grammar && valid);
  std::mt19937 random(13);
  const auto tools = std::make_shared<const std::vector<OfferedTool>>(std::vector<OfferedTool>{{"f", parameters}});
  size_t empty = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string text = testing::RandomText(grammar, random);
    ToolCallParser parser(SyntaxOf(syntax), tools, {});
    ToolCallParser::Output out = parser.Feed(text);
    EXPECT_EQ(out.content + parser.Finish().content, "") << text;
    ASSERT_EQ(out.calls.size(), 1u) << text;
    empty += out.calls[0].arguments == "{}" ? 1 : 0;
    EXPECT_TRUE(Matches(valid, out.calls[0].arguments)) << text << '\n' << out.calls[0].arguments;
  }
  EXPECT_LT(empty, 200u);
}

constexpr const char* kMixed = R"({"type":"object","properties":{
  "flag":{"type":["boolean","null"]},"kind":{"enum":["it's","a \"b\" \\ c","true"]},
  "list":{"type":"array","items":{"type":"integer","minimum":-9,"maximum":9},"maxItems":3},
  "place":{"type":"object","properties":{"code":{"type":"string","pattern":"^[a-c'\"\\\\\n]{0,4}$"}},"required":["code"]},
  "size":{"type":"integer"}}})";

TEST(ValueGrammarTest, WhateverIsForcedIsReadAsValidArguments) {
  ExpectRandomCallsAreValid("gemma 4", kMixed);
  ExpectRandomCallsAreValid("lfm", kMixed);
  ExpectRandomCallsAreValid("minimax 3", kMixed);
}

}  // namespace
}  // namespace inferflux::text
