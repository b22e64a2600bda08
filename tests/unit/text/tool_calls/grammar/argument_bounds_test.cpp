// What may be written as the arguments of a call, character by character, and how deep their schemas may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "text/grammar/grammar_text.h"
#include "text/tool_calls/grammar/forced_call.h"
#include "text/tool_calls/grammar/tool_call_grammar.h"
#include "text/tool_calls/syntax_of.h"

namespace inferflux::text {
namespace {

using testing::CompileOrFail;
using testing::ErrorOf;
using testing::ForcedCall;
using ::testing::HasSubstr;
using testing::Matches;
using testing::SyntaxOf;

// Of the ASCII characters, those that are taken where `call` puts them.
template <typename CallWith>
std::string Taken(const std::shared_ptr<const CompiledGrammar>& grammar, CallWith call) {
  std::string out;
  for (char c = ' '; c < 0x7F; ++c) {
    if (Matches(grammar, call(std::string(1, c)))) out += c;
  }
  return out;
}

constexpr const char* kDigits = "0123456789";
constexpr const char* kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr const char* kLower = "abcdefghijklmnopqrstuvwxyz";

std::string ElementCallOf(const std::string& arguments) {
  std::string out;
  for (const char c : "~<tool_call>\n~<invoke name=\"f\">" + arguments + "~</invoke>\n~</tool_call>") {
    out += c == '~' ? std::string("]<]minimax[>[") : std::string(1, c);
  }
  return out;
}

TEST(ArgumentBounds, ANameThatTheModelChoosesHas64Characters) {
  const std::string most(64, 'n'), more = most + 'n';
  const auto tagged = [](const std::string& name) {
    return "<tool_call>f\n<arg_key>" + name + "</arg_key>\n<arg_value>x</arg_value>\n</tool_call>";
  };
  const auto glm = CompileOrFail(ForcedCall("glm", ""));
  EXPECT_TRUE(Matches(glm, tagged(most)));
  EXPECT_FALSE(Matches(glm, tagged(more)) || Matches(glm, tagged("")));
  EXPECT_EQ(Taken(glm, tagged), std::string("-") + kDigits + kUpper + "_" + kLower);

  const auto element = [](const std::string& name) { return ElementCallOf("~<" + name + ">1~</" + name + ">"); };
  const auto minimax = CompileOrFail(ForcedCall("minimax 3", ""));
  EXPECT_TRUE(Matches(minimax, element(most)));
  EXPECT_FALSE(Matches(minimax, element(more)) || Matches(minimax, element("")));
  EXPECT_EQ(Taken(minimax, element), std::string("-.") + kDigits + kUpper + "_" + kLower);

  const auto python = [](const std::string& name) { return "<|tool_call_start|>[f(" + name + "=1)]<|tool_call_end|>"; };
  const auto lfm = CompileOrFail(ForcedCall("lfm", ""));
  EXPECT_TRUE(Matches(lfm, python(most)));
  EXPECT_FALSE(Matches(lfm, python(more)));
  EXPECT_EQ(Taken(lfm, python), std::string(kUpper) + "_" + kLower);
  EXPECT_EQ(Taken(lfm, [&](const std::string& c) { return python("a" + c); }),
            std::string(kDigits) + kUpper + "_" + kLower);
}

TEST(ArgumentBounds, NamesOfMarkedMembersNeedNoMarks) {
  const auto gemma = CompileOrFail(ForcedCall("gemma 4", "{}"));
  const auto call = [](const std::string& name) { return "<|tool_call>call:f{" + name + ":1}<tool_call|>"; };
  EXPECT_EQ(Taken(gemma, call), std::string("$-./") + kDigits + "@" + kUpper + "_" + kLower);
  EXPECT_TRUE(Matches(gemma, call("\u00C0\uD7FF")));
  EXPECT_FALSE(Matches(gemma, call("\u00BF")) || Matches(gemma, call("\uE000")));
}

TEST(ArgumentBounds, AnIdThatTheModelInventsHas16Characters) {
  const auto call = [](const std::string& id) { return "[TOOL_CALLS]f[CALL_ID]" + id + "[ARGS]{}"; };
  const auto grammar = CompileOrFail(ForcedCall("mistral, numbered", ""));
  EXPECT_TRUE(Matches(grammar, call(std::string(16, 'a'))));
  EXPECT_FALSE(Matches(grammar, call(std::string(17, 'a'))) || Matches(grammar, call("")));
  EXPECT_EQ(Taken(grammar, call), std::string("-") + kDigits + kUpper + "_" + kLower);
}

TEST(ArgumentBounds, ANumberedCallHasUpToThreeDigits) {
  const auto call = [](const std::string& id) {
    return R"(<|START_ACTION|>[{"tool_call_id": ")" + id + R"(", "tool_name": "f", "parameters": {}}]<|END_ACTION|>)";
  };
  const auto grammar = CompileOrFail(ForcedCall("command r7b", ""));
  for (const char* id : {"0", "42", "999"}) EXPECT_TRUE(Matches(grammar, call(id))) << id;
  for (const char* id : {"", "1000", "a", "-1"}) EXPECT_FALSE(Matches(grammar, call(id))) << id;
}

// While the mark is looked for, up to 16 characters can be counted; in longer texts a character of it is left out.
TEST(ArgumentBounds, ALongMarkedTextHasNoBar) {
  const auto takes = [](const std::string& limits, const std::string& text) {
    const std::string parameters = R"({"type":"object","properties":{"p":{"type":"string",)" + limits +
                                   R"(}},"required":["p"],"additionalProperties":false})";
    return Matches(CompileOrFail(ForcedCall("gemma 4", parameters)),
                   "<|tool_call>call:f{p:<|\"|>" + text + "<|\"|>}<tool_call|>");
  };
  EXPECT_TRUE(takes(R"("maxLength":16)", "a|b"));
  EXPECT_TRUE(takes(R"("maxLength":16)", std::string(16, 'x')));
  EXPECT_FALSE(takes(R"("maxLength":16)", std::string(17, 'x')));
  EXPECT_FALSE(takes(R"("maxLength":17)", "a|b"));
  EXPECT_TRUE(takes(R"("maxLength":17)", std::string(17, 'x')));
  EXPECT_FALSE(takes(R"("maxLength":17)", std::string(18, 'x')));
  EXPECT_TRUE(takes(R"("minLength":16)", "a|" + std::string(14, 'x')));
  EXPECT_FALSE(takes(R"("minLength":16)", "a|" + std::string(13, 'x')));
  EXPECT_FALSE(takes(R"("minLength":17)", "a|" + std::string(15, 'x')));
  EXPECT_TRUE(takes(R"("minLength":17)", std::string(17, 'x')));
}

TEST(ArgumentBounds, SchemasOfElementsAre32Deep) {
  const auto refused = [](const std::string& property, const std::string& definitions = "") {
    return ErrorOf(
        ForcedCall("minimax 3", R"({"type":"object","properties":{"p":)" + property + "}" + definitions + "}"));
  };
  const auto nested = [&](const std::string& open, const std::string& close, int levels) {
    std::string schema = R"({"type":"null"})";
    for (int i = 0; i < levels; ++i) schema = open + schema + close;
    return refused(schema);
  };
  const char* const deep = ": schemas are nested too deep";
  EXPECT_EQ(nested(R"({"type":"array","items":)", "}", 31), "");
  EXPECT_THAT(nested(R"({"type":"array","items":)", "}", 32), HasSubstr(deep));
  EXPECT_EQ(nested(R"({"type":"object","additionalProperties":)", "}", 31), "");
  EXPECT_THAT(nested(R"({"type":"object","additionalProperties":)", "}", 32), HasSubstr(deep));
  EXPECT_EQ(nested(R"({"type":"object","properties":{"a":)", "}}", 31), "");
  EXPECT_THAT(nested(R"({"type":"object","properties":{"a":)", "}}", 32), HasSubstr(deep));
  EXPECT_EQ(nested(R"({"anyOf":[{"type":"null"},{"type":"array","items":)", "}]}", 15), "");
  EXPECT_THAT(nested(R"({"anyOf":[{"type":"null"},{"type":"array","items":)", "}]}", 16), HasSubstr(deep));
  const auto referred = [&](int links) {
    std::string definitions = R"("d0":{"type":"null"})";
    for (int i = 1; i < links; ++i) {
      definitions += ",\"d" + std::to_string(i) + R"(":{"type":"array","items":{"$ref":"#/$defs/d)" +
                     std::to_string(i - 1) + "\"}}";
    }
    return refused("{\"$ref\":\"#/$defs/d" + std::to_string(links - 1) + "\"}", ",\"$defs\":{" + definitions + "}");
  };
  EXPECT_EQ(referred(16), "");
  EXPECT_THAT(referred(17), HasSubstr(deep));
}

TEST(ArgumentBounds, WhatElementsAreRefusedForIsNamedExactly) {
  const auto refused = [](const std::string& property) {
    return ErrorOf(ForcedCall(
        "minimax 3", R"({"type":"object","properties":{"p":)" + property + R"(},"$defs":{"s":{"type":"string"}}})"));
  };
  for (const char* good :
       {R"({"$ref":"#/$defs/s","description":"A text."})",
        R"({"anyOf":[{"type":"string"},{"type":"null"}],"title":"t"})", R"({"type":["boolean","integer","null"]})",
        R"({"type":["object","null"]})", R"({"enum":["a",null]})", R"({"enum":[1,null,true]})",
        R"({"type":"array","minItems":1000000})", R"({"description":"Anything."})", "true"}) {
    EXPECT_EQ(refused(good), "") << good;
  }
  for (const auto& [schema, where] :
       {std::pair{R"({"$ref":"#/$defs/s","minLength":1})", "/minLength: beside '$ref'"},
        {R"({"anyOf":[{"type":"string"},{"type":"null"}],"type":"string"})", "/type: beside 'anyOf'"},
        {R"({"anyOf":[{"type":"null"}]})", "/anyOf: has several alternatives beside null"},
        {R"({"type":["array","boolean"]})", "/type: has types that cannot be distinguished"},
        {R"({"type":["string","number"]})", "/type: has types that cannot be distinguished"},
        {R"({"type":["string","array"]})", "/type: has types that cannot be distinguished"},
        {R"({"enum":["a",1]})", "/enum: has text and other values, which cannot be distinguished"},
        {R"({"enum":["a",[]]})", "/enum: has lists or objects"},
        {R"({"type":"array","minItems":1000001})", "/minItems: must be an integer, and not too large"},
        {R"({"type":"array","maxItems":"1"})", "/maxItems: must be an integer, and not too large"},
        {R"({"type":"array","maxItems":1.5})", "/maxItems: must be an integer, and not too large"},
        {R"({"minLength":1})", ": needs a type"}}) {
    EXPECT_THAT(refused(schema), HasSubstr("the parameters of 'f': at #/properties/p" + std::string(where))) << schema;
  }
  const auto arguments = [](const char* schema) { return ErrorOf(ForcedCall("minimax 3", schema)); };
  EXPECT_THAT(arguments("[]"), HasSubstr("at #: must be an object"));
  EXPECT_THAT(arguments(R"({"type":"string"})"), HasSubstr("at #/type: arguments are an object"));
  EXPECT_EQ(arguments(R"({"$ref":"#/$defs/o","$defs":{"o":{"type":"object"}}})"), "");
}

TEST(ArgumentBounds, AnIdentifierHasLettersDigitsAndUnderscores) {
  const auto error = [](const std::string& name) {
    return ErrorOf(ForcedCall("lfm", R"({"type":"object","properties":{")" + name + R"(":{"type":"integer"}}})"));
  };
  for (const char* name : {"a", "z", "A", "Z", "_", "a0", "a9", "aA", "aZ", "a_", "ä", "aä"}) {
    EXPECT_EQ(error(name), "") << name;
  }
  EXPECT_EQ(error(std::string(256, 'n')), "");
  EXPECT_THAT(error(std::string(257, 'n')), HasSubstr("so it needs to be an identifier"));
  for (const char* name : {"0", "9", "`", "{", "@", "[", "a`", "a{", "a@", "a[", "a/", "a:", "a-", "a b"}) {
    EXPECT_THAT(error(name), HasSubstr("so it needs to be an identifier")) << name;
  }
}

TEST(ArgumentBounds, ArgumentsOfEachNotationAreObjects) {
  const auto error = [](const char* schema) { return ErrorOf(ForcedCall("hermes", schema)); };
  EXPECT_EQ(error(R"({"type":["object","string"],"nullable":true})"), "");
  EXPECT_THAT(error(R"({"type":["string","null"]})"),
              HasSubstr("at #/type: arguments are objects, and it does not allow objects"));
  EXPECT_THAT(error(R"({"type":3})"), HasSubstr("at #/type: arguments are objects, and it does not allow objects"));
  EXPECT_THAT(error("true"), HasSubstr("at #: must be an object"));
}

TEST(ArgumentBounds, EachCustomToolHasItsOwnRules) {
  GrammarSpec spec = ForcedCall("hermes", "");
  spec.tool_calls.tools = {{"f", "", "start: a a\na: \"x\""}, {"g", "", "start: b c\nb: \"y\"\nc: \"z\""}};
  const auto grammar = CompileOrFail(spec);
  const auto takes = [&](const std::string& name, const std::string& input) {
    return Matches(grammar,
                   R"(<tool_call>{"name": ")" + name + R"(", "arguments": {"input": ")" + input + R"("}}</tool_call>)");
  };
  EXPECT_TRUE(takes("f", "xx") && takes("g", "yz"));
  EXPECT_FALSE(takes("f", "yz") || takes("g", "xx") || takes("g", "yy") || takes("f", "x"));
}

TEST(ArgumentBounds, TextBetweenTagsCannotHaveItsEnd) {
  const auto error = [](const std::string& property) {
    return ErrorOf(ForcedCall("glm", R"({"type":"object","properties":{"p":)" + property + "}}"));
  };
  const std::string at = "the parameters of 'f': at #/properties/p";
  EXPECT_THAT(error(R"({"const":"a</arg_value>b"})"),
              HasSubstr(at + "/const: has values that text between tags cannot express"));
  EXPECT_THAT(error(R"({"enum":["a",1]})"), HasSubstr(at + "/enum: has values that text between tags cannot express"));
  EXPECT_THAT(error(R"({"anyOf":[{"type":"string"},true]})"), HasSubstr(at + "/anyOf: may be text or something else"));
  EXPECT_THAT(error(R"({"type":"string","enum":["a"],"minLength":1})"),
              HasSubstr(at + "/minLength: text between tags cannot be constrained to it"));
  EXPECT_EQ(error(R"({"enum":["</arg","value>"],"description":"d"})"), "");
  for (const char name : std::string("<>\"\\ ")) {
    const std::string written = name == '"' || name == '\\' ? std::string("\\\"") : std::string(1, name);
    EXPECT_THAT(ErrorOf(ForcedCall("glm", R"({"properties":{"a)" + written + R"(":{"type":"integer"}}})")),
                HasSubstr(": cannot be used in a tag"));
  }
}

}  // namespace
}  // namespace inferflux::text
