#include "text/tool_calls/read/element_reader.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

namespace inferflux::text {
namespace {

constexpr std::string_view kMark = "~!";

// Adds the mark before each tag: '~' represents it in the shorthand.
std::string Text(std::string_view shorthand) {
  std::string out;
  for (const char c : shorthand) out += c == '~' ? std::string(kMark) : std::string(1, c);
  return out;
}

// The arguments as JSON, or why the text has none. The result must not depend on how the text is split.
std::string Read(std::string_view shorthand, const char* parameters = "null") {
  const std::string text = Text(shorthand);
  std::string whole;
  for (size_t piece = text.size(); piece > 0; --piece) {
    ElementReader reader(kMark);
    size_t at = 0;
    auto step = ElementReader::Step::kWait;
    for (size_t size = piece; step == ElementReader::Step::kWait; size += piece) {
      step = reader.Read(std::string_view(text).substr(0, size), at);
      if (size >= text.size()) break;
    }
    std::string out = step == ElementReader::Step::kMisfit ? "misfit" : "unfinished";
    if (step == ElementReader::Step::kDone) {
      EXPECT_EQ(text.substr(at), Text("~</end>"));
      out = boost::json::serialize(reader.Release(boost::json::parse(parameters)));
    }
    if (piece == text.size()) whole = out;
    EXPECT_EQ(out, whole) << text << " in pieces of " << piece;
  }
  return whole;
}

TEST(ElementReaderTest, ElementsAreMembersOrItems) {
  EXPECT_EQ(Read("~</end>"), "{}");
  EXPECT_EQ(Read("~<a>x y~</a>~<b>3~</b>~</end>"), R"({"a":"x y","b":3})");
  EXPECT_EQ(Read("~<a>~<k>v~</k>~<l>~<item>1~</item>~<item>true~</item>~</l>~</a>~</end>"),
            R"({"a":{"k":"v","l":[1,true]}})");
  EXPECT_EQ(Read("\n ~<a>\n ~<k>v~</k>\n~</a>\n~</end>"), R"({"a":{"k":"v"}})");
  EXPECT_EQ(Read("~<a>1~</a>~<a>2~</a>~</end>"), R"({"a":2})");
  EXPECT_EQ(Read("~<a>1~</b>~</end>"), R"({"a":1})");
}

TEST(ElementReaderTest, TextIsKeptAsItIs) {
  EXPECT_EQ(Read("~<a> <b>x</b> \n ~! \"~</a>~</end>"), "misfit");  // a mark without a tag
  EXPECT_EQ(Read("~<a> <b>x</b> & </a>\n ! \"~</a>~</end>"), R"({"a":" <b>x</b> & </a>\n ! \""})");
  EXPECT_EQ(Read("~<a>~</a>~</end>"), R"({"a":""})");
}

// The schema supplies the types that text does not show.
TEST(ElementReaderTest, ValuesHaveTheTypesOfTheirSchemas) {
  constexpr const char* kSchema = R"({"$ref":"#/$defs/root","$defs":{
    "root":{"type":"object","properties":{
      "s":{"type":"string"},"n":{"type":"integer"},"l":{"type":"array","items":{"type":"string"}},
      "o":{"type":"object","properties":{"item":{"type":"string"}}},"m":{"anyOf":[{"$ref":"#/$defs/s"},{"type":"null"}]},
      "ln":{"type":["array","null"]},"p":{"type":"object","additionalProperties":{"type":"string"}},
      "tree":{"$ref":"#/$defs/tree"}}},
    "s":{"type":"string"},
    "tree":{"type":"object","properties":{"v":{"type":"string"},"t":{"$ref":"#/$defs/tree"}}}}})";
  const auto value = [&](std::string_view name, std::string_view content) {
    const std::string all = Read("~<" + std::string(name) + ">" + std::string(content) + "~</x>~</end>", kSchema);
    return all.substr(name.size() + 4, all.size() - name.size() - 5);
  };
  EXPECT_EQ(value("s", "12"), R"("12")");
  EXPECT_EQ(value("s", "null"), R"("null")");
  EXPECT_EQ(value("n", "12"), "12");
  EXPECT_EQ(value("n", "twelve"), R"("twelve")");
  EXPECT_EQ(value("l", ""), "[]");
  EXPECT_EQ(value("l", "~<item>1~</item>"), R"(["1"])");
  EXPECT_EQ(value("o", ""), "{}");
  EXPECT_EQ(value("o", "~<item>1~</item>"), R"({"item":"1"})");
  EXPECT_EQ(value("m", "12"), R"("12")");
  EXPECT_EQ(value("m", "null"), "null");
  EXPECT_EQ(value("ln", "null"), "null");
  EXPECT_EQ(value("ln", ""), "[]");
  EXPECT_EQ(value("p", "~<x>1~</x>"), R"({"x":"1"})");
  EXPECT_EQ(value("tree", "~<v>1~</v>~<t>~<v>2~</v>~</t>"), R"({"v":"1","t":{"v":"2"}})");
  EXPECT_EQ(value("unknown", "12"), "12");
}

TEST(ElementReaderTest, WhatIsNoElementIsAMisfit) {
  for (const char* text :
       {"x~</end>", "~<a>1~</a>x~</end>", "~<a>x~<b>1~</b>~</a>~</end>", "~<a>~<b>1~</b>x~</a>~</end>",
        "~<>1~</>~</end>", "~<a b>1~</a>~</end>", "~<a/>~</end>", "~a~</end>"}) {
    EXPECT_EQ(Read(text), "misfit") << text;
  }
  for (const char* text : {"~", "~<", "~<a", "~<a>", "~<a>x", "~<a>x~", "~<a>x~</", "~<a>x~</a", "~<a>x~</a>"}) {
    EXPECT_EQ(Read(text), "unfinished") << text;
  }
  std::string deep;
  for (int i = 0; i < 32; ++i) deep += "~<a>";
  for (int i = 0; i < 32; ++i) deep += "~</a>";
  EXPECT_EQ(Read(deep + "~</end>").substr(0, 5), R"({"a":)");
  EXPECT_EQ(Read("~<a>" + deep + "~</a>~</end>"), "misfit");
}

}  // namespace
}  // namespace inferflux::text
