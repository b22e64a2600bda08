#include "text/tool_calls/tool_call_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <random>
#include <string>
#include <tuple>

#include "text/tool_calls/syntax_of.h"
#include "text/tool_calls/tool_call_samples.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

using testing::kToolCallSamples;
using testing::SyntaxOf;
using testing::ToolCallSample;
using testing::Written;

const auto kTools = std::make_shared<const std::vector<OfferedTool>>(std::vector<OfferedTool>{
    {"look_up", R"({"type":"object","properties":{"word":{"type":"string"},"pages":{"type":"integer"}}})"},
    {"get_weather", ""}});

struct Parsed {
  std::string content;
  std::vector<FoundToolCall> calls;
};

// Reads `text` in pieces of `step` bytes. What is passed on of a call while it grows must be that call.
Parsed ParseUpTo(const ToolCallSyntax& syntax, std::string_view text, size_t step, ToolCallParser::Options options,
                 bool cut) {
  ToolCallParser parser(syntax, kTools, options);
  Parsed out;
  std::vector<FoundToolCall> grown;
  const auto take = [&](ToolCallParser::Output piece) {
    out.content += piece.content;
    for (const ToolCallPiece& more : piece.pieces) {
      if (!more.name.empty()) grown.push_back({.name = more.name, .arguments = {}, .source = {}});
      ASSERT_EQ(more.call + 1, grown.size());
      grown.back().arguments += more.arguments;
    }
    for (FoundToolCall& call : piece.calls) out.calls.push_back(std::move(call));
  };
  for (size_t at = 0; at < text.size(); at += step) take(parser.Feed(text.substr(at, step)));
  take(parser.Finish(cut));
  EXPECT_EQ(grown.size(), out.calls.size());
  size_t found = 0;
  for (size_t i = 0; i < std::min(grown.size(), out.calls.size()); ++i) {
    EXPECT_EQ(grown[i].name, out.calls[i].name);
    EXPECT_EQ(grown[i].arguments, out.calls[i].arguments);
    if (out.calls[i].end != FoundToolCall::End::kCut) ++found;
  }
  EXPECT_EQ(parser.found(), found);
  return out;
}
Parsed Parse(const ToolCallSyntax& syntax, std::string_view text, size_t step, bool several = true) {
  return ParseUpTo(syntax, text, step, {.several = several}, false);
}
Parsed Parse(std::string_view text, size_t step) { return Parse(HermesSyntax(), text, step); }

void ExpectBoth(const Parsed& parsed) {
  ASSERT_EQ(parsed.calls.size(), 2u);
  EXPECT_EQ(parsed.calls[0].name, "look_up");
  EXPECT_EQ(json::parse(parsed.calls[0].arguments), json::parse(R"({"word":"heron","pages":3})"));
  EXPECT_EQ(parsed.calls[1].name, "look_up");
  EXPECT_EQ(json::parse(parsed.calls[1].arguments), json::parse(R"({"word":"a < b","pages":4})"));
}

TEST(ToolCallParserTest, EveryFormHasASample) {
  EXPECT_EQ(std::size(kToolCallSamples), ToolCallSyntaxes().size());
  for (const ToolCallSample& sample : kToolCallSamples) SyntaxOf(sample.syntax);
}

TEST(ToolCallParserTest, FindsCallsHoweverTheTextIsCut) {
  for (const ToolCallSample& sample : kToolCallSamples) {
    SCOPED_TRACE(sample.syntax);
    const std::string text = Written(sample, {{"heron", "3"}, {"a < b", "4"}});
    for (size_t step = 1; step <= text.size(); ++step) {
      const Parsed parsed = Parse(SyntaxOf(sample.syntax), text, step);
      EXPECT_EQ(parsed.content, "") << step;
      ExpectBoth(parsed);
    }
  }
}

TEST(ToolCallParserTest, KeepsTheTextInFrontOfMarkedCalls) {
  for (const ToolCallSample& sample : kToolCallSamples) {
    SCOPED_TRACE(sample.syntax);
    const ToolCallSyntax& syntax = SyntaxOf(sample.syntax);
    const std::string text = "Let me look.\n\n" + Written(sample, {{"heron", "3"}, {"a < b", "4"}});
    for (const size_t step : {1u, 3u, 1000u}) {
      const Parsed parsed = Parse(syntax, text, step);
      if (syntax.bare) {
        EXPECT_EQ(parsed.content, text);
        EXPECT_TRUE(parsed.calls.empty());
      } else {
        EXPECT_EQ(parsed.content, "Let me look.");
        ExpectBoth(parsed);
      }
    }
  }
}

// A truncated call is content to the last byte, until it is certain to be a call.
TEST(ToolCallParserTest, NothingIsLostOfACallThatEndsEarly) {
  for (const ToolCallSample& sample : kToolCallSamples) {
    SCOPED_TRACE(sample.syntax);
    const ToolCallSyntax& syntax = SyntaxOf(sample.syntax);
    const std::string whole = Written(sample, {{"heron", "3"}});
    bool was_call = false;
    for (size_t size = 0; size <= whole.size(); ++size) {
      const std::string text = whole.substr(0, size);
      const Parsed parsed = Parse(syntax, text, 5);
      if (parsed.calls.empty()) {
        EXPECT_EQ(parsed.content, text);
        EXPECT_FALSE(was_call) << text;
        continue;
      }
      EXPECT_EQ(parsed.content, "") << text;
      const FoundToolCall& call = parsed.calls[0];
      was_call = was_call || call.whole();
      EXPECT_EQ(call.whole(), was_call) << text;
      if (syntax.body == CallBody::kTagged) continue;
      if (call.whole()) {
        EXPECT_EQ(json::parse(call.arguments), json::parse(R"({"word":"heron","pages":3})")) << text;
      } else {
        EXPECT_EQ(call.source, text);
        EXPECT_EQ(std::string(R"({"word":"heron","pages":3)").substr(0, call.arguments.size()), call.arguments);
      }
    }
    EXPECT_TRUE(was_call);
  }
}

// Cut by a limit, the same text is the beginning of a call, and none of its markers is content.
TEST(ToolCallParserTest, ACallThatIsCutLeaksNoMarkup) {
  for (const ToolCallSample& sample : kToolCallSamples) {
    SCOPED_TRACE(sample.syntax);
    const ToolCallSyntax& syntax = SyntaxOf(sample.syntax);
    const std::string whole = Written(sample, {{"heron", "3"}});
    bool begun = false;
    for (size_t size = 1; size <= whole.size(); ++size) {
      const std::string text = whole.substr(0, size);
      const Parsed forced = ParseUpTo(syntax, text, 3, {.forced = true}, true);
      EXPECT_EQ(forced.content, "") << text;
      const Parsed free = ParseUpTo(syntax, text, 3, {}, true);
      EXPECT_EQ(free.calls.size(), forced.calls.size()) << text;
      begun = begun || free.content.empty();
      EXPECT_EQ(free.content, begun ? "" : text) << "only what may be no call stays";
      if (forced.calls.empty()) continue;
      const FoundToolCall& call = forced.calls[0];
      EXPECT_EQ(call.name, "look_up");
      if (!call.whole()) {
        EXPECT_EQ(std::string(R"({"word":"heron","pages":3)").substr(0, call.arguments.size()), call.arguments);
      }
    }
    EXPECT_TRUE(begun);
  }
}

// A client may parse the arguments after each piece.
TEST(ToolCallParserTest, ArgumentsGrowByWholeCharactersAndEscapes) {
  const std::string written = R"({ "word" : "a\n\u00e9\ud83e\udda9 \\ß鹭🪶\"", "pages": [1, 2.5e3, true] })";
  const std::string compact = R"({"word":"a\n\u00e9\ud83e\udda9 \\ß鹭🪶\"","pages":[1,2.5e3,true]})";
  for (const auto& [syntax, before, after] :
       {std::tuple{"hermes", R"(<tool_call>{"name": "look_up", "arguments": )", "}\n</tool_call>"},
        {"llama 3", R"({"name": "look_up", "parameters": )", "}"},
        {"mistral, named", "[TOOL_CALLS]look_up[ARGS]", ""},
        {"apertus", R"(<|tools_prefix|>[{"look_up": )", "}]<|tools_suffix|>"}}) {
    ToolCallParser parser(SyntaxOf(syntax), kTools, {});
    std::vector<std::string> pieces;
    const auto take = [&](const ToolCallParser::Output& out) {
      EXPECT_EQ(out.content, "");
      for (const ToolCallPiece& piece : out.pieces) pieces.push_back(piece.arguments);
    };
    for (const char c : before + written + after) take(parser.Feed(std::string(1, c)));
    take(parser.Finish());
    EXPECT_EQ(parser.found(), 1u);
    std::string all;
    bool ended = false;
    for (const std::string& piece : pieces) {
      all += piece;
      // Inside the string, closing it must give JSON: so no piece ends inside an escape or a character.
      ended = ended || all.ends_with(R"(\"")");
      if (ended || !all.starts_with(R"({"word":")")) continue;
      boost::system::error_code error;
      json::parse(all + "\"}", error);
      EXPECT_FALSE(error) << all;
    }
    EXPECT_EQ(all, compact) << syntax;
    EXPECT_GT(pieces.size(), 30u) << "it grows: " << syntax;
  }
}

// Between tags too, where the schema types the value as a string. The sum of the pieces is the call's arguments.
TEST(ToolCallParserTest, TaggedTextGrowsByWholeCharacters) {
  const std::string word = "a\n\"é🦩\\ß鹭 </par>\n\n<b>🪶";
  const std::string compact = json::serialize(json::object{{"word", word}, {"pages", 31}});
  int tagged = 0;
  for (const ToolCallSample& sample : kToolCallSamples) {
    const ToolCallSyntax& syntax = SyntaxOf(sample.syntax);
    if (syntax.body != CallBody::kTagged) continue;
    ++tagged;
    const std::string text = Written(sample, {{word, "31"}});
    ToolCallParser parser(syntax, kTools, {});
    std::vector<std::string> pieces;
    const auto take = [&](const ToolCallParser::Output& out) {
      EXPECT_EQ(out.content, "");
      for (const ToolCallPiece& piece : out.pieces) pieces.push_back(piece.arguments);
      for (const FoundToolCall& call : out.calls) EXPECT_EQ(call.arguments, compact);
    };
    for (const char c : text) take(parser.Feed(std::string(1, c)));
    take(parser.Finish());
    EXPECT_EQ(parser.found(), 1u) << sample.syntax;
    std::string all;
    for (const std::string& piece : pieces) {
      all += piece;
      if (!all.starts_with(R"({"word":")") || all.find("\",\"") != std::string::npos || all.ends_with("🪶\""))
        continue;
      boost::system::error_code error;
      json::parse(all + "\"}", error);
      EXPECT_FALSE(error) << all;
    }
    EXPECT_EQ(all, compact) << sample.syntax;
    EXPECT_GT(pieces.size(), 15u) << "it grows: " << sample.syntax;
    EXPECT_NE(std::ranges::find(pieces, ",\"pages\":"), pieces.end());
    EXPECT_NE(std::ranges::find(pieces, "31"), pieces.end()) << "a number is whole: more digits could follow";
  }
  EXPECT_EQ(tagged, 8);
}

// What was passed on cannot be taken back.
TEST(ToolCallParserTest, ATaggedCallThatHasBegunStaysOne) {
  const std::string begun = "<tool_call>\n<function=look_up>\n<parameter=word>\nheron\n</parameter>\n";
  for (const size_t step : {1u, 4u, 1000u}) {
    const Parsed twice =
        Parse(SyntaxOf("qwen coder"), begun + "<parameter=word>\nstork\n</parameter>\n</function>\n</tool_call>", step);
    ASSERT_EQ(twice.calls.size(), 1u);
    EXPECT_EQ(twice.calls[0].arguments, R"({"word":"heron"})") << "the first counts";
    const Parsed unclosed = Parse(SyntaxOf("qwen coder"), begun + "Sorry.", step);
    EXPECT_EQ(unclosed.content, "\nSorry.");
    ASSERT_EQ(unclosed.calls.size(), 1u);
    EXPECT_EQ(unclosed.calls[0].arguments, R"({"word":"heron"})");
    EXPECT_EQ(unclosed.calls[0].end, FoundToolCall::End::kUnclosed);
    const std::string broken = begun + "<parameter=pages>\n3";
    const Parsed ended = Parse(SyntaxOf("qwen coder"), broken, step);
    ASSERT_EQ(ended.calls.size(), 1u);
    EXPECT_EQ(ended.content, "");
    EXPECT_EQ(ended.calls[0].end, FoundToolCall::End::kBroken);
    EXPECT_EQ(ended.calls[0].arguments, R"({"word":"heron","pages":)");
    EXPECT_EQ(ended.calls[0].source, broken);
  }
}

// Such a call is the client's to judge: its arguments are what the model wrote, up to the call's closing.
TEST(ToolCallParserTest, ArgumentsThatBreakOffBeingJsonStayOneCall) {
  for (const size_t step : {1u, 4u, 1000u}) {
    const std::string broken = R"(<tool_call>{"name": "look_up", "arguments": {"word": "a", }}</tool_call>)";
    const Parsed parsed = Parse(broken + " Sorry.", step);
    EXPECT_EQ(parsed.content, " Sorry.");
    ASSERT_EQ(parsed.calls.size(), 1u);
    EXPECT_EQ(parsed.calls[0].end, FoundToolCall::End::kBroken);
    EXPECT_EQ(parsed.calls[0].arguments, R"({"word":"a",}})");
    EXPECT_EQ(parsed.calls[0].source, broken);
    const Parsed unclosed = Parse(R"(<tool_call>{"name": "look_up", "arguments": {}} Done.)", step);
    EXPECT_EQ(unclosed.content, " Done.");
    ASSERT_EQ(unclosed.calls.size(), 1u);
    EXPECT_EQ(unclosed.calls[0].end, FoundToolCall::End::kUnclosed);
  }
}

// With `auto`, a model may call a function that was not offered.
TEST(ToolCallParserTest, AFunctionThatIsNotOfferedIsNoCall) {
  for (const ToolCallSample& sample : kToolCallSamples) {
    SCOPED_TRACE(sample.syntax);
    std::string text = Written(sample, {{"heron", "3"}});
    text.replace(text.find("look_up"), 7, "look_in");
    for (const size_t step : {1u, 5u, 1000u}) {
      const Parsed parsed = Parse(SyntaxOf(sample.syntax), text, step);
      EXPECT_EQ(parsed.content, text);
      EXPECT_TRUE(parsed.calls.empty());
    }
  }
}

// Content and calls do not depend on how a text is split. Without a call, all of it is content.
TEST(ToolCallParserTest, AnyTextIsReadTheSameHoweverItIsCut) {
  std::mt19937 random(11);
  int with_calls = 0;
  for (const ToolCallSample& sample : kToolCallSamples) {
    SCOPED_TRACE(sample.syntax);
    const ToolCallSyntax& syntax = SyntaxOf(sample.syntax);
    const std::string base = Written(sample, {{"heron", "3"}, {"stork", "4"}});
    for (int i = 0; i < 300; ++i) {
      std::string text = base;
      for (int edits = static_cast<int>(random() % 3); edits >= 0; --edits) {
        const size_t at = random() % text.size(), size = random() % 6;
        if (random() % 2 == 0) {
          text.erase(at, size);
        } else {
          text.insert(at, base.substr(random() % base.size(), size * 4));
        }
        if (text.empty()) text = " ";
      }
      const Parsed whole = Parse(syntax, text, text.size());
      if (whole.calls.empty()) {
        EXPECT_EQ(whole.content, text);
      }
      with_calls += whole.calls.empty() ? 0 : 1;
      for (const size_t step : {1u, 7u}) {
        const Parsed cut = Parse(syntax, text, step);
        EXPECT_EQ(cut.content, whole.content) << text;
        ASSERT_EQ(cut.calls.size(), whole.calls.size()) << text;
        for (size_t c = 0; c < cut.calls.size(); ++c) {
          EXPECT_EQ(cut.calls[c].arguments, whole.calls[c].arguments);
          EXPECT_EQ(cut.calls[c].end, whole.calls[c].end);
          EXPECT_EQ(cut.calls[c].source, whole.calls[c].source);
        }
      }
    }
  }
  EXPECT_GT(with_calls, 1000);
}

TEST(ToolCallParserTest, WhatIsNoCallStaysVisible) {
  for (const std::string text :
       {"a < b and <tool", "<tool_call>not json</tool_call>", "<tool_call>{\"name\": 3}</tool_call>",
        "<tool_call>{\"name\":", "<tool_call>{\"name\":\"look_up\",\"arguments\":\"text\"}</tool_call>",
        "trailing space \n", "Hm.\n\n<tool_call>{}</tool_call>", " ", "</tool_call>"}) {
    for (size_t step : {1u, 2u, 1000u}) {
      const Parsed parsed = Parse(text, step);
      EXPECT_EQ(parsed.content, text) << step;
      EXPECT_TRUE(parsed.calls.empty()) << text;
    }
  }
  const Parsed second = Parse("<tool_call>{bad}</tool_call>\n<tool_call>{\"name\":\"look_up\"}</tool_call>\n", 3);
  EXPECT_EQ(second.content, "<tool_call>{bad}</tool_call>");
  ASSERT_EQ(second.calls.size(), 1u);
  EXPECT_EQ(second.calls[0].arguments, "{}");
}

// Arguments in a model's own syntax: a broken call is content, and the next call is found again.
TEST(ToolCallParserTest, BrokenArgumentsStayVisible) {
  const auto expect = [](std::string_view syntax, const std::string& broken, const std::string& whole,
                         const std::string& word) {
    for (const size_t step : {1u, 4u, 1000u}) {
      const Parsed parsed = Parse(SyntaxOf(syntax), broken + whole, step);
      EXPECT_EQ(parsed.content, broken);
      ASSERT_EQ(parsed.calls.size(), 1u) << broken;
      EXPECT_EQ(parsed.calls[0].arguments, json::serialize(json::value{{"word", word}}));
    }
  };
  const std::string marked = R"(<|tool_call>call:look_up{word:<|"|><tool_call|> }<|"|>}<tool_call|>)";
  for (const char* broken : {"look_up{word:heron}", "look_up", "look up{}", "{}", "look_up{word:<|\"|>x}", "f(){}"}) {
    expect("gemma 4", "<|tool_call>call:" + std::string(broken) + "<tool_call|>", marked, "<tool_call|> }");
  }
  const std::string mark = "]<]minimax[>[";
  const std::string elements = mark + "<tool_call>\n" + mark + "<invoke name=\"look_up\">" + mark + "<word></word> }" +
                               mark + "</word>" + mark + "</invoke>\n" + mark + "</tool_call>";
  for (const std::string& broken : {"look_up\">x" + mark, "look_up\">" + mark + "<word>x", "look_up" + mark}) {
    expect("minimax 3", mark + "<tool_call>" + mark + "<invoke name=\"" + broken + "</invoke>" + mark + "</tool_call>",
           elements, "</word> }");
  }
  const std::string python = R"py(<|tool_call_start|>[look_up(word=")]<|tool_call_end|>")]<|tool_call_end|>)py";
  for (const char* broken : {"look_up('heron')", "look_up(word=heron)", "look_up(word='it's')", "look_up", "word=\"x\"",
                             "()", "look_up(word='x' pages=3)", "print(look_up(word='x'))", "[look_up()]"}) {
    expect("lfm", "<|tool_call_start|>[" + std::string(broken) + "]<|tool_call_end|>", python, ")]<|tool_call_end|>");
  }
}

TEST(ToolCallParserTest, AMarkerWithinAnArgumentEndsNothing) {
  const Parsed parsed = Parse(R"(<tool_call>{"name":"look_up","arguments":{"x":"</tool_call>"}}</tool_call>)", 4);
  EXPECT_EQ(parsed.content, "");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].arguments, R"({"x":"</tool_call>"})");
}

TEST(ToolCallParserTest, PlainTextIsNotHeldBack) {
  ToolCallParser parser(HermesSyntax(), kTools, {});
  EXPECT_EQ(parser.Feed("Hello").content, "Hello");
  EXPECT_EQ(parser.Feed(" world <").content, " world");
  EXPECT_EQ(parser.Feed("3").content, " <3");
  ToolCallParser bare(SyntaxOf("llama 3"), kTools, {});
  EXPECT_EQ(bare.Feed("Hello").content, "Hello");
  EXPECT_EQ(bare.Feed(R"( {"name": "look_up", )").content, R"( {"name": "look_up",)");
}

TEST(ToolCallParserTest, AnAnswerThatIsAnObjectIsACallOnlyOfAnOfferedTool) {
  const ToolCallSyntax& llama = SyntaxOf("llama 3");
  for (const char* text : {R"({"name": "other", "parameters": {}})", R"({"name": "look_up_all", "parameters": {}})",
                           R"({"title": "look_up"})", R"({"name": "look_up", "parameters": 3})",
                           R"({"name": "look_up", )", R"([{"name": "look_up"}])"}) {
    for (const size_t step : {1u, 5u, 1000u}) {
      const Parsed parsed = Parse(llama, text, step);
      EXPECT_EQ(parsed.content, text);
      EXPECT_TRUE(parsed.calls.empty());
    }
  }
  // Text that cannot become a call any more is released at once.
  ToolCallParser parser(llama, kTools, {});
  EXPECT_EQ(parser.Feed(R"({"name": "l)").content, "");
  EXPECT_EQ(parser.Feed("ook").content, "");
  EXPECT_EQ(parser.Feed("s good").content, R"({"name": "looks good)");
  for (const char* text :
       {R"(<|python_tag|>{"name": "look_up", "parameters": {"word": "a"}})",
        "\n{ \"type\": \"function\", \"name\" : \"look_up\", \"parameters\": {\"word\": \"a\"}}\n"}) {
    const Parsed parsed = Parse(llama, text, 3);
    EXPECT_EQ(parsed.content, "");
    ASSERT_EQ(parsed.calls.size(), 1u) << text;
    EXPECT_EQ(parsed.calls[0].arguments, R"({"word":"a"})");
  }
  // If a template allows one call per message, only one is returned.
  const std::string two = R"({"name":"look_up","parameters":{}}; {"name":"look_up","parameters":{}})";
  EXPECT_EQ(Parse(llama, two, 4, true).calls.size(), 2u);
  EXPECT_EQ(Parse(llama, two, 4, false).calls.size(), 1u);
  EXPECT_EQ(Parse(llama, two, 4, false).content, R"(; {"name":"look_up","parameters":{}})");
}

TEST(ToolCallParserTest, TaggedValuesHaveTheTypesOfTheirSchemas) {
  const auto tools = std::make_shared<const std::vector<OfferedTool>>(std::vector<OfferedTool>{
      {"f", R"({"properties":{"s":{"type":"string"},"n":{"type":"number"},"b":{"type":"boolean"},"a":{"type":"array"},
                "o":{"type":"object"},"m":{"anyOf":[{"type":"string"},{"type":"null"}]},"e":{"enum":["1","2"]},
                "u":{}}})"}});
  const auto value = [&](std::string_view key, std::string_view text) {
    ToolCallParser parser(SyntaxOf("qwen coder"), tools, {});
    const std::string call = "<tool_call>\n<function=f>\n<parameter=" + std::string(key) + ">\n" + std::string(text) +
                             "\n</parameter>\n</function>\n</tool_call>";
    const auto out = parser.Feed(call);
    return out.calls.empty() ? "none" : out.calls[0].arguments;
  };
  EXPECT_EQ(value("s", "12"), R"({"s":"12"})");
  EXPECT_EQ(value("s", "\n  def f():\n    <b>\n"), R"({"s":"\n  def f():\n    <b>\n"})");
  EXPECT_EQ(value("s", "\"quoted\""), R"({"s":"\"quoted\""})");
  EXPECT_EQ(value("n", "12"), R"({"n":12})");
  EXPECT_EQ(value("n", "twelve"), R"({"n":"twelve"})");
  EXPECT_EQ(value("b", "true"), R"({"b":true})");
  EXPECT_EQ(value("b", "False"), R"({"b":false})");
  EXPECT_EQ(value("s", "None"), R"({"s":"None"})");
  EXPECT_EQ(value("a", "[1, \"x\"]"), R"({"a":[1,"x"]})");
  EXPECT_EQ(value("o", "{\"k\": null}"), R"({"o":{"k":null}})");
  EXPECT_EQ(value("m", "null"), R"({"m":null})");
  EXPECT_EQ(value("m", "7"), R"({"m":"7"})");
  EXPECT_EQ(value("e", "1"), R"({"e":"1"})");
  EXPECT_EQ(value("u", "7"), R"({"u":7})");
  EXPECT_EQ(value("not_in_the_schema", "x y"), R"({"not_in_the_schema":"x y"})");
}

TEST(ToolCallParserTest, ACallMayHaveNoArguments) {
  EXPECT_EQ(Parse(SyntaxOf("glm"), "<tool_call>get_weather</tool_call>", 3).calls.at(0).arguments, "{}");
  EXPECT_EQ(Parse(SyntaxOf("qwen coder"), "<tool_call>\n<function=get_weather>\n</function>\n</tool_call>", 3)
                .calls.at(0)
                .arguments,
            "{}");
  EXPECT_EQ(Parse(SyntaxOf("mistral, named"), "[TOOL_CALLS]get_weather[ARGS]{}", 3).calls.at(0).arguments, "{}");
  EXPECT_EQ(Parse(SyntaxOf("gemma 4"), "<|tool_call>call:get_weather{}<tool_call|>", 3).calls.at(0).arguments, "{}");
  EXPECT_EQ(Parse(SyntaxOf("lfm"), "<|tool_call_start|>[get_weather()]", 3).calls.at(0).arguments, "{}");
}

}  // namespace
}  // namespace inferflux::text
