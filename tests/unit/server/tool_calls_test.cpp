#include "server/tool_calls.h"

#include <gtest/gtest.h>

#include <string>

namespace inferflux::server {
namespace {

struct Parsed {
  std::string content;
  std::vector<FoundToolCall> calls;
};

Parsed Parse(std::string_view text, size_t step) {
  ToolCallParser parser;
  Parsed out;
  const auto take = [&](ToolCallParser::Output piece) {
    out.content += piece.content;
    for (FoundToolCall& call : piece.calls) out.calls.push_back(std::move(call));
  };
  for (size_t at = 0; at < text.size(); at += step) take(parser.Feed(text.substr(at, step)));
  take(parser.Finish());
  return out;
}

TEST(ToolCallParserTest, FindsACallHoweverTheTextIsCut) {
  const std::string text =
      "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
  for (size_t step = 1; step <= text.size(); ++step) {
    const Parsed parsed = Parse(text, step);
    EXPECT_EQ(parsed.content, "") << step;
    ASSERT_EQ(parsed.calls.size(), 1u) << step;
    EXPECT_EQ(parsed.calls[0].name, "get_weather");
    EXPECT_EQ(parsed.calls[0].arguments, R"({"city":"Oslo"})");
  }
}

TEST(ToolCallParserTest, KeepsTheTextInFrontAndDropsTheSpaceBetweenCalls) {
  const std::string text =
      "Let me "
      "look.\n\n<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"b\"}</tool_call>\n";
  for (size_t step : {1u, 3u, 7u, 1000u}) {
    const Parsed parsed = Parse(text, step);
    EXPECT_EQ(parsed.content, "Let me look.") << step;
    ASSERT_EQ(parsed.calls.size(), 2u) << step;
    EXPECT_EQ(parsed.calls[1].name, "b");
    EXPECT_EQ(parsed.calls[1].arguments, "{}");
  }
}

TEST(ToolCallParserTest, WhatIsNoCallStaysVisible) {
  for (const std::string text :
       {"a < b and <tool", "<tool_call>not json</tool_call>", "<tool_call>{\"name\": 3}</tool_call>",
        "<tool_call>{\"name\":", "<tool_call>{\"name\":\"a\",\"arguments\":\"text\"}</tool_call>", "trailing space \n",
        " ", "</tool_call>"}) {
    for (size_t step : {1u, 2u, 1000u}) {
      const Parsed parsed = Parse(text, step);
      EXPECT_EQ(parsed.content, text) << step;
      EXPECT_TRUE(parsed.calls.empty()) << text;
    }
  }
}

TEST(ToolCallParserTest, ACallThatOnlyLacksItsClosingTagCounts) {
  const Parsed parsed = Parse("<tool_call>{\"name\":\"a\",\"arguments\":{\"x\":1}}", 4);
  EXPECT_EQ(parsed.content, "");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].arguments, R"({"x":1})");
}

TEST(ToolCallParserTest, PlainTextIsNotHeldBack) {
  ToolCallParser parser;
  EXPECT_EQ(parser.Feed("Hello").content, "Hello");
  EXPECT_EQ(parser.Feed(" world <").content, " world");
  EXPECT_EQ(parser.Feed("3").content, " <3");
}

}  // namespace
}  // namespace inferflux::server
