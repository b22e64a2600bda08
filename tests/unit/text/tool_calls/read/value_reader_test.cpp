#include "text/tool_calls/read/value_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "support/conformance.h"
#include "text/chat_template.h"
#include "text/tool_calls/syntax_of.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

using testing::SyntaxOf;

// The arguments as JSON with the text after them, or why the text has none. The result must not depend on how the text
// is split.
std::string Read(std::string_view syntax, const std::string& text) {
  std::string whole;
  for (size_t piece = text.size(); piece > 0; --piece) {
    ValueReader reader(SyntaxOf(syntax));
    size_t at = 0;
    auto step = ValueReader::Step::kWait;
    for (size_t size = piece; step == ValueReader::Step::kWait; size += piece) {
      step = reader.Read(std::string_view(text).substr(0, size), at);
      if (size >= text.size()) break;
    }
    std::string out = step == ValueReader::Step::kMisfit ? "misfit" : "unfinished";
    if (step == ValueReader::Step::kDone) out = json::serialize(reader.Release()) + text.substr(at);
    if (piece == text.size()) whole = out;
    EXPECT_EQ(out, whole) << text << " in pieces of " << piece;
  }
  return whole;
}

std::string Marked(const std::string& text) { return Read("gemma 4", text); }
std::string Python(const std::string& text) { return Read("lfm", text); }

TEST(ValueReaderTest, MarkedValuesAreWhatTheTemplateWrites) {
  EXPECT_EQ(Marked("{}"), "{}");
  EXPECT_EQ(Marked("{ }<tool_call|>"), "{}<tool_call|>");
  EXPECT_EQ(Marked(R"({a:<|"|>x<|"|>,b:3,c:-2.5,d:true,e:false,f:None,g:null} and)"),
            R"({"a":"x","b":3,"c":-2.5E0,"d":true,"e":false,"f":null,"g":null} and)");
  EXPECT_EQ(Marked(R"({o:{k:{},l:[]},m:[1,[<|"|>y<|"|>],{n:0}]})"), R"({"o":{"k":{},"l":[]},"m":[1,["y"],{"n":0}]})");
  EXPECT_EQ(Marked("{ a : 1 ,\n b : [ 2 , 3 ] }"), R"({"a":1,"b":[2,3]})");
}

TEST(ValueReaderTest, MarkedStringsHoldAnythingButTheMark) {
  EXPECT_EQ(Marked(R"({a:<|"|>"x", } ] <tool_call|> \n <|"<|"|>})"), R"({"a":"\"x\", } ] <tool_call|> \\n <|\""})");
  EXPECT_EQ(Marked("{a:<|\"|>l 1\nl\t2 日本<|\"|>}"), "{\"a\":\"l 1\\nl\\t2 日本\"}");
  EXPECT_EQ(Marked(R"({a:<|"|><|"|>})"), R"({"a":""})");
  EXPECT_EQ(Marked(R"({a:<|"|>12<|"|>,b:<|"|>true<|"|>})"), R"({"a":"12","b":"true"})");
}

TEST(ValueReaderTest, NamesMayStandBetweenMarks) {
  EXPECT_EQ(Marked(R"({<|"|>a:b<|"|>:1,<|"|><|"|>:2})"), R"({"a:b":1,"":2})");
  EXPECT_EQ(Marked("{my key:1,a-b.c:2,größe:3,<b>:4}"), R"({"my key":1,"a-b.c":2,"größe":3,"<b>":4})");
  EXPECT_EQ(Marked("{a:1,b:2,a:3}"), R"({"a":3,"b":2})");
}

TEST(ValueReaderTest, NamesMayBeLong) {
  const std::string name(1500, 'x');
  EXPECT_EQ(Marked("{" + name + ":1}"), "{\"" + name + "\":1}");
  EXPECT_EQ(Python("(" + name + "=1)"), "{\"" + name + "\":1}");
}

TEST(ValueReaderTest, NumbersKeepTheirValues) {
  EXPECT_EQ(Marked("{a:1e5,b:-0,c:1E-2,d:1e+20}"), R"({"a":1E5,"b":0,"c":1E-2,"d":1E20})");
  EXPECT_EQ(Marked("{a:9223372036854775807,b:18446744073709551615}"),
            R"({"a":9223372036854775807,"b":18446744073709551615})");
}

TEST(ValueReaderTest, WhatIsNoValueIsAMisfit) {
  for (const char* text : {"[]",       "x",       "{a}",        "{a:}",    "{a:1 2}",  "{a:1]",     "{a:[1}",
                           "{:1}",     "{,}",     "{a:x}",      "{a:nan}", "{a:inf}",  "{a:1e999}", "{a:\"x\"}",
                           "{a:TRUE}", "{a:--1}", "{a:1,,b:2}", "{a:b:c}", "{a:{}{}}", "{\"a\":1}", "{a=1}"}) {
    EXPECT_EQ(Marked(text), "misfit") << text;
  }
  for (const char* text :
       {"{", "{a", "{a:", "{a:1", "{a:1,", R"({a:<|")", R"({a:<|"|>x<|"|)", R"({a:<|"|>x}<tool_call|>)"}) {
    EXPECT_EQ(Marked(text), "unfinished") << text;
  }
}

TEST(ValueReaderTest, PythonsArgumentsAreReadWithItsWordsOrJsons) {
  EXPECT_EQ(Python("()"), "{}");
  EXPECT_EQ(Python("( )]"), "{}]");
  EXPECT_EQ(Python(R"py((a="x", b='y', c=3, d=-2.5, e=True, f=false, g=None, h=null))py"),
            R"({"a":"x","b":"y","c":3,"d":-2.5E0,"e":true,"f":false,"g":null,"h":null})");
  EXPECT_EQ(Python(R"py((a=[1, "x", None, []], b={"k": {'l': [True]}, "": {}}) and)py"),
            R"({"a":[1,"x",null,[]],"b":{"k":{"l":[true]},"":{}}} and)");
  EXPECT_EQ(Python("(\n  a = 1,\n  b = [1, 2,],\n)"), R"({"a":1,"b":[1,2]})");
  EXPECT_EQ(Python("(a=5., b=.5, c=1e5, größe=0, a=6)"), R"({"a":6,"b":5E-1,"c":1E5,"größe":0})");
}

TEST(ValueReaderTest, PythonsStringsHaveItsEscapes) {
  EXPECT_EQ(Python(R"py((a='it\'s "x"', b="it's \"y\"", c="), ]}", d="\\"))py"),
            R"json({"a":"it's \"x\"","b":"it's \"y\"","c":"), ]}","d":"\\"})json");
  EXPECT_EQ(Python(R"py((a="\n\t\r\x41\u00e9\U0001F600\ud83d\ude00\101\0"))py"), R"({"a":"\n\t\rAé😀😀A\u0000"})");
  EXPECT_EQ(Python(R"py((a="\1012\78\0z\377"))py"), R"({"a":"A2\u00078\u0000zÿ"})") << "up to three octal digits";
  EXPECT_EQ(Python(R"py((a="\d+\/\é"))py"), R"({"a":"\\d+\\/\\é"})");  // not escapes: Python keeps the backslash
  EXPECT_EQ(Python("(a='l 1\nl 2\\\nl 2 too')"), R"({"a":"l 1\nl 2l 2 too"})");
  for (const char* text :
       {R"py((a="\ud83d"))py", R"py((a="\uZZZZ"))py", R"py((a="\x4"))py", R"py((a="\U00110000"))py"}) {
    EXPECT_EQ(Python(text), "misfit") << text;
  }
}

TEST(ValueReaderTest, WhatPythonDoesNotCallIsAMisfit) {
  for (const char* text : {"{}",       "[]",         "x",          "(1)",           "('x')",
                           "(a)",      "(a=)",       "(a=x)",      "(a='x' b='y')", "(a:1)",
                           "('a'=1)",  "(a={b: 1})", "(a={1: 2})", "(a={'b'=1})",   "(a=f(1))",
                           "(a=b'x')", "(a=(1, 2))", "(a=1]",      "(a=[1)",        "(,)",
                           "(a=nan)",  "(a=1+2)",    "(a='x'.y)",  "(*a)",          "(a=0x10)"}) {
    EXPECT_EQ(Python(text), "misfit") << text;
  }
  for (const char* text : {"(", "(a", "(a=", "(a='x", "(a='x\\", "(a='x\\'", "(a=1", "(a=1,", "(a={'b'"}) {
    EXPECT_EQ(Python(text), "unfinished") << text;
  }
}

// Deeper nesting is not a call, because later readers of the arguments recurse.
TEST(ValueReaderTest, NestingHasAnEnd) {
  const auto nested = [](size_t depth) {
    std::string text = "{a:";
    for (size_t i = 0; i < depth; ++i) text += '[';
    for (size_t i = 0; i < depth; ++i) text += ']';
    return text + '}';
  };
  EXPECT_EQ(Marked(nested(31)).substr(0, 5), "{\"a\":");
  EXPECT_EQ(Marked(nested(32)), "misfit");
  ValueReader reader(SyntaxOf("gemma 4"));
  size_t at = 0;
  EXPECT_EQ(reader.Read(nested(1'000'000), at), ValueReader::Step::kMisfit);
}

// Arguments rendered by published templates, read back.

json::value RandomValue(std::mt19937& random, int depth) {
  static const char* const kStrings[] = {"",         "x",       "a b", "12", "true", "日本 ü", "{\"a\": [1]}",
                                         "l1\nl2\t", "a, b: c", "<b>"};
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0:
      return static_cast<int64_t>(random() % 2000) - 1000;
    case 1:
      return (static_cast<double>(random() % 4000) - 2000) / 8;
    case 2:
      return random() % 2 == 0;
    case 3:
      return nullptr;
    case 6: {
      json::array out;
      for (size_t i = random() % 4; i > 0; --i) out.push_back(RandomValue(random, depth - 1));
      return out;
    }
    case 7: {
      json::object out;
      for (size_t i = random() % 4; i > 0; --i) {
        out["key_" + std::to_string(random() % 50)] = RandomValue(random, depth - 1);
      }
      return out;
    }
    default:
      return json::string(kStrings[random() % std::size(kStrings)]);
  }
}

TEST(ValueReaderTest, WhatATemplateRendersIsReadBack) {
  INFERFLUX_REQUIRE_CONFORMANCE("chat_templates");
  std::mt19937 random(3);
  for (const auto& [file, id] :
       {std::pair("google-gemma-4-31B-it-interleaved.jinja", "gemma 4"), {"LFM2.5-8B-A1B.jinja", "lfm"}}) {
    std::ifstream source(inferflux::testing::ConformanceDir() / "chat_templates" / file);
    const auto chat_template = ChatTemplate::Compile(std::string(std::istreambuf_iterator<char>(source), {}));
    ASSERT_TRUE(chat_template) << file;
    for (int i = 0; i < 300; ++i) {
      json::object arguments;
      for (size_t count = random() % 4; count > 0; --count) {
        arguments["argument_" + std::to_string(random() % 50)] = RandomValue(random, 3);
      }
      const json::object call = {{"type", "function"}, {"function", {{"name", "f"}, {"arguments", arguments}}}};
      const json::array messages = {{{"role", "user"}, {"content", "Go."}},
                                    {{"role", "assistant"}, {"content", ""}, {"tool_calls", json::array{call}}}};
      const auto spans = chat_template->Render({{"messages", messages}, {"bos_token", ""}});
      ASSERT_TRUE(spans) << spans.error().message;
      std::string text;
      for (const TextSpan& span : *spans) text += span.text;
      ToolCallParser parser(SyntaxOf(id), std::make_shared<const std::vector<OfferedTool>>(1, OfferedTool{"f", ""}),
                            {});
      auto out = parser.Feed(text);
      ASSERT_EQ(out.calls.size(), 1u) << text;
      EXPECT_EQ(json::parse(out.calls[0].arguments), json::value(arguments)) << text;
    }
  }
}

}  // namespace
}  // namespace inferflux::text
