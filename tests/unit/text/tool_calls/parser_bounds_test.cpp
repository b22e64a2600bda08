// How long names, numbers and elements of a call may be, and how far references are followed: each bound at its edge.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "text/tool_calls/argument_schema.h"
#include "text/tool_calls/past_calls.h"
#include "text/tool_calls/syntax_of.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::text {
namespace {

namespace json = boost::json;
using testing::SyntaxOf;

// "name arguments" of each call with a mark for its end, then the content in brackets.
std::string CallsIn(std::string_view syntax, std::string_view text, const std::string& name = "f",
                    const std::string& parameters = "") {
  ToolCallParser parser(SyntaxOf(syntax),
                        std::make_shared<const std::vector<OfferedTool>>(1, OfferedTool{name, parameters}), {});
  ToolCallParser::Output out = parser.Feed(text);
  ToolCallParser::Output rest = parser.Finish();
  out.calls.insert(out.calls.end(), rest.calls.begin(), rest.calls.end());
  std::string shown;
  for (const FoundToolCall& call : out.calls) {
    shown += call.name + " " + call.arguments + " " + std::to_string(static_cast<int>(call.end)) + "; ";
  }
  return shown + "[" + out.content + rest.content + "]";
}

TEST(ToolCallBounds, ANameHas256BytesAtMost) {
  const std::string most(256, 'n'), more = most + 'n';
  const auto glm = [](const std::string& name) { return "<tool_call>" + name + "</tool_call>"; };
  EXPECT_EQ(CallsIn("glm", glm(most), most), most + " {} 0; []");
  EXPECT_EQ(CallsIn("glm", glm(more), more), "[" + glm(more) + "]");
  const auto named = [](const std::string& name) { return "[TOOL_CALLS]" + name + "[ARGS]{}"; };
  EXPECT_EQ(CallsIn("mistral, named", named(most), most), most + " {} 0; []");
  EXPECT_EQ(CallsIn("mistral, named", named(more), more), "[" + named(more) + "]");
  // A longer one is not waited for.
  ToolCallParser parser(SyntaxOf("glm"), std::make_shared<const std::vector<OfferedTool>>(1, OfferedTool{most, ""}),
                        {});
  EXPECT_EQ(parser.Feed("<tool_call>" + most).content, "");
  EXPECT_EQ(parser.Feed("n").content, "<tool_call>" + more);
}

TEST(ToolCallBounds, TheNameOfAnArgumentHas256BytesAtMost) {
  const auto call = [](size_t bytes) {
    return "<tool_call>f\n<arg_key>" + std::string(bytes, 'k') + "</arg_key>\n<arg_value>1</arg_value>\n</tool_call>";
  };
  EXPECT_EQ(CallsIn("glm", call(256)), "f {\"" + std::string(256, 'k') + "\":1} 0; []");
  EXPECT_EQ(CallsIn("glm", call(257)), "[" + call(257) + "]");
}

TEST(ToolCallBounds, TheNameOfAnElementHas1023BytesAtMost) {
  const std::string mark = "]<]minimax[>[";
  const auto call = [&](const std::string& opens, const std::string& closes) {
    return mark + "<tool_call>\n" + mark + "<invoke name=\"f\">" + mark + "<" + opens + ">1" + mark + "</" + closes +
           ">" + mark + "</invoke>\n" + mark + "</tool_call>";
  };
  const std::string most(1023, 'n');
  EXPECT_EQ(CallsIn("minimax 3", call(most, "n")), "f {\"" + most + "\":1} 0; []");
  const std::string longer = call(most + "n", "n");
  EXPECT_EQ(CallsIn("minimax 3", longer), "[" + longer + "]");
  EXPECT_EQ(CallsIn("minimax 3", call("n", most.substr(1))), "f {\"n\":1} 0; []");
  const std::string longer_end = call("n", most);
  EXPECT_EQ(CallsIn("minimax 3", longer_end), "[" + longer_end + "]");
}

TEST(ToolCallBounds, ANumberHas512BytesAtMost) {
  const auto call = [](size_t bytes) {
    return "<|tool_call_start|>[f(a=1." + std::string(bytes - 2, '0') + ")]<|tool_call_end|>";
  };
  EXPECT_EQ(CallsIn("lfm", call(512)), "f {\"a\":1E0} 0; []");
  EXPECT_EQ(CallsIn("lfm", call(513)), "[" + call(513) + "]");
  // A longer one is not waited for.
  ToolCallParser parser(SyntaxOf("lfm"), std::make_shared<const std::vector<OfferedTool>>(1, OfferedTool{"f", ""}), {});
  const std::string begun = "<|tool_call_start|>[f(a=" + std::string(512, '1');
  EXPECT_EQ(parser.Feed(begun).content, "");
  EXPECT_EQ(parser.Feed("1").content, begun + "1");
}

// However a call ended, the next one grows from its beginning: nothing of the last is left in the reader.
TEST(ToolCallBounds, EachCallOfAnAnswerGrows) {
  const std::string whole = R"(<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>)";
  const std::string calls[] = {whole,
                               R"(<tool_call>{"name": "f", "arguments": {"a": [{"b": "\q)",
                               R"(<tool_call>{"name": "f", "arguments": {"a": {} x)",
                               R"(<tool_call>{"name": "f", "arguments": {"a": 1}, "z": [ x)",
                               R"(<tool_call>{"name": "f", "arguments": {"a": 1}, "z": "y" x)",
                               R"(<tool_call>{"name": "g", "arguments": {"a": "b)",
                               R"(<tool_call>{"z": [{"name" x)",
                               R"(<tool_call>{"arguments": {"a": 1} x)",
                               R"(<tool_call>{"name": "f" "z)"};
  for (const std::string& before : calls) {
    ToolCallParser parser(HermesSyntax(), std::make_shared<const std::vector<OfferedTool>>(1, OfferedTool{"f", ""}),
                          {});
    parser.Feed(before);
    if (before != whole) parser.Feed("</tool_call>");
    const auto begun = parser.Feed(R"(<tool_call>{"name": "f", "arguments": {"b": ["c")");
    ASSERT_EQ(begun.pieces.size(), 1u) << before;
    EXPECT_EQ(begun.pieces[0].name, "f") << before;
    EXPECT_EQ(begun.pieces[0].arguments, R"({"b":["c")") << before;
    const auto ended = parser.Feed(R"( , 2]}}</tool_call>)");
    ASSERT_EQ(ended.calls.size(), 1u) << before;
    EXPECT_EQ(ended.calls[0].arguments, R"({"b":["c",2]})") << before;
    EXPECT_EQ(ended.calls[0].end, FoundToolCall::End::kClosed) << before;
  }
}

// What the text ends in is part of what the model wrote of the call.
TEST(ToolCallBounds, ACallThatEndsEarlyHasItsWholeSource) {
  const std::string begun = "<tool_call>\n<function=f>\n<parameter=a>\nheron\n</parameter>\n";
  for (const std::string& text : {begun + "<param", begun + "<parameter=b", begun + "<parameter=b>\n3",
                                  begun + "<parameter=b>\n3\n</par", begun}) {
    ToolCallParser parser(SyntaxOf("qwen coder"),
                          std::make_shared<const std::vector<OfferedTool>>(1, OfferedTool{"f", ""}), {});
    ToolCallParser::Output out = parser.Feed(text);
    ASSERT_TRUE(out.calls.empty()) << text;
    out = parser.Finish();
    ASSERT_EQ(out.calls.size(), 1u) << text;
    EXPECT_EQ(out.calls[0].end, FoundToolCall::End::kBroken) << text;
    EXPECT_EQ(out.calls[0].source, text);
    EXPECT_EQ(out.content, "") << text;
  }
}

TEST(ToolCallBounds, ReferencesToReferencesAreFollowedEightTimes) {
  json::object definitions = {{"d0", {{"type", "null"}}}};
  for (int i = 1; i < 12; ++i) {
    definitions["d" + std::to_string(i)] = {{"$ref", "#/$defs/d" + std::to_string(i - 1)}};
  }
  const json::value parameters = {{"$defs", definitions}};
  const auto referred = [&](int i) {
    const json::value schema = {{"$ref", "#/$defs/d" + std::to_string(i)}};
    return json::serialize(*Referred(parameters, &schema));
  };
  EXPECT_EQ(referred(0), R"({"type":"null"})");
  EXPECT_EQ(referred(7), R"({"type":"null"})");
  EXPECT_EQ(referred(8), R"({"$ref":"#/$defs/d0"})") << "the ninth is left";
}

TEST(ToolCallBounds, WhatIsBesideNullIsOneSchema) {
  const json::value parameters = json::parse(R"({"$defs":{"s":{"type":"string"}}})");
  const auto beside = [&](const char* schema) {
    const json::value parsed = json::parse(schema);
    const json::value* found = BesideNull(parameters, &parsed);
    return found == nullptr ? "none" : json::serialize(*found);
  };
  EXPECT_EQ(beside(R"({"anyOf":[{"type":"null"},{"$ref":"#/$defs/s"}]})"), R"({"type":"string"})");
  EXPECT_EQ(beside(R"({"anyOf":[{"$ref":"#/$defs/s"}]})"), R"({"type":"string"})");
  EXPECT_EQ(beside(R"({"anyOf":[{"type":"null"}]})"), "none");
  EXPECT_EQ(beside(R"({"anyOf":[{"type":"array"},{"type":"null"},{"type":"object"}]})"),
            R"({"anyOf":[{"type":"array"},{"type":"null"},{"type":"object"}]})");
  EXPECT_EQ(beside(R"({"anyOf":{}})"), R"({"anyOf":{}})");
  EXPECT_EQ(beside("true"), "true");
}

// FNV-1a in base 62, so that an id is the same in each process.
TEST(ToolCallBounds, AShortIdIsMadeOfTheLongOne) {
  EXPECT_EQ(ShortId(""), "HIQo8RRkb");
  EXPECT_EQ(ShortId("call_1"), "9gD2Dimct");
  EXPECT_EQ(ShortId("\xC3\xA4-1234567"), "tQBQxCuGs");
  for (const char* kept : {"azAZ09aaa", "000000000", "zzzzzzzzz"}) EXPECT_EQ(ShortId(kept), kept);
  for (const char* made : {"azAZ09aa`", "azAZ09aa{", "azAZ09aa@", "azAZ09aa[", "azAZ09aa/", "azAZ09aa:"}) {
    EXPECT_NE(ShortId(made), made);
  }
}

}  // namespace
}  // namespace inferflux::text
