// Characters, white space, margins and numbers where Python's text and this one could differ: at the edges.
#include "dspy/python/python_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dspy/python/python_format.h"

namespace inferflux::dspy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string CharOf(char32_t code) {
  std::string out;
  AppendChar(code, out);
  return out;
}

TEST(PythonTextTest, EachLengthOfUtf8IsOneCharacter) {
  for (const auto& [text, code, size] : {std::tuple<std::string, char32_t, size_t>{"\x7F", 0x7F, 1},
                                         {"\xC2\x80", 0x80, 2},
                                         {"\xDF\xBF", 0x7FF, 2},
                                         {"\xE0\xA0\x80", 0x800, 3},
                                         {"\xEF\xBF\xBF", 0xFFFF, 3},
                                         {"\xF0\x90\x80\x80", 0x10000, 4},
                                         {"\xF4\x8F\xBF\xBF", 0x10FFFF, 4},
                                         {"\x80", 0xFFFD, 1},
                                         {"\xC1\x80", 0xFFFD, 1},
                                         {"\xC2", 0xFFFD, 1},
                                         {"\xC2x", 0xFFFD, 1},
                                         {"\xE0\xA0", 0xFFFD, 1},
                                         {"\xE0\xA0x", 0xFFFD, 1},
                                         {"\xF0\x90\x80", 0xFFFD, 1},
                                         {"\xF5\x80\x80\x80", 0xFFFD, 1}}) {
    const PythonChar c = CharAt("ab" + text, 2);
    EXPECT_EQ(c.code, code) << PythonQuote(text);
    EXPECT_EQ(c.size, size) << PythonQuote(text);
    if (code != 0xFFFD) {
      EXPECT_EQ(CharOf(code), text);
      EXPECT_TRUE(EndsWithWholeChar("a" + text));
    }
    for (size_t cut = 1; cut < size; ++cut)
      EXPECT_FALSE(EndsWithWholeChar("a" + text.substr(0, cut))) << PythonQuote(text);
  }
  EXPECT_TRUE(EndsWithWholeChar(""));
  EXPECT_TRUE(EndsWithWholeChar("\x80")) << "no UTF-8 counts as whole";
  EXPECT_TRUE(EndsWithWholeChar("\xC1"));
  EXPECT_TRUE(EndsWithWholeChar("\x80\x80\x80\x80"));
}

TEST(PythonTextTest, WhiteSpaceAndLineEndsAreThoseOfStr) {
  const std::vector<char32_t> ends = {0x0A, 0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029};
  std::vector<char32_t> spaces = {0x09, 0x1F, 0x20, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000};
  for (char32_t code = 0x2000; code <= 0x200A; ++code) spaces.push_back(code);
  spaces.insert(spaces.end(), ends.begin(), ends.end());
  for (char32_t code = 0; code < 0x3100; ++code) {
    EXPECT_EQ(IsPythonSpace(code), std::ranges::find(spaces, code) != spaces.end()) << static_cast<uint32_t>(code);
    EXPECT_EQ(IsLineEnd(code), std::ranges::find(ends, code) != ends.end()) << static_cast<uint32_t>(code);
  }
}

TEST(PythonTextTest, StripTakesWholeCharactersOnly) {
  EXPECT_EQ(Strip(" \t\u2003a b\u3000\u00A0\n"), "a b");
  EXPECT_EQ(Strip("\u3000"), "");
  EXPECT_EQ(Strip("\u00A0"), "");
  EXPECT_EQ(Strip("x\xA0"), "x\xA0") << "half a character is no space";
  EXPECT_EQ(Strip("🙂"), "🙂");
  EXPECT_EQ(StripLeft("  a "), "a ");
}

TEST(PythonTextTest, LinesEndWherePythonEndsThem) {
  EXPECT_THAT(SplitLines("a\r\nb\rc\n\nd\u2028e"), ElementsAre("a", "b", "c", "", "d", "e"));
  EXPECT_THAT(SplitLines("a\n"), ElementsAre("a"));
  EXPECT_THAT(SplitLines(""), IsEmpty());
  EXPECT_THAT(SplitLines("\n"), ElementsAre(""));
}

// As inspect.cleandoc and textwrap.dedent of Python 3.11.
TEST(PythonTextTest, MarginsGo) {
  for (const auto& [text, clean] :
       {std::pair{"  First.\n    Second\n      deeper\n    last\n\n", "First.\nSecond\n  deeper\nlast"},
        {"\n\n  a\n b\n", " a\nb"},
        {"a\n\tb\n        c", "a\nb\nc"},
        {"ab\tc", "ab      c"},
        {"12345678\tc", "12345678        c"},
        {"123456789\tc\td", "123456789       c       d"},
        {"ü\r1234567\tc", "ü\r1234567 c"},
        {"x\n ab\tc", "x\nab     c"},
        {"a\n\n  b", "a\n\nb"},
        {"one", "one"},
        {"", ""},
        {"a\n   ", "a\n   "}}) {
    EXPECT_EQ(CleanDoc(text), clean) << PythonQuote(text);
  }
  for (const auto& [text, dedented] : {std::pair{"  a\n    b\n  c", "a\n  b\nc"},
                                       {"  a\n   \n  b", "a\n\nb"},
                                       {"\ta\n  b", "\ta\n  b"},
                                       {"  \ta\n  b", "\ta\nb"},
                                       {"a\n  b", "a\n  b"},
                                       {"", ""}}) {
    EXPECT_EQ(Dedent(text), dedented) << PythonQuote(text);
  }
}

TEST(PythonTextTest, PrefixesAreWordsOfTheName) {
  for (const auto& [name, prefix] : {std::pair{"question", "Question"},
                                     {"camelCaseText2", "Camel Case Text 2"},
                                     {"some_attribute_name", "Some Attribute Name"},
                                     {"HTTPServer", "HTTP Server"},
                                     {"text2speech", "Text 2 Speech"},
                                     {"AZaz09", "A Zaz 09"},
                                     {"aB", "A B"},
                                     {"z_Z", "Z Z"},
                                     {"a__b", "A  B"},
                                     {"größe", "Größe"},
                                     {"aÄB", "AÄb"},
                                     {"ÄB", "ÄB"}}) {
    EXPECT_EQ(InferPrefix(name), prefix) << name;
  }
  EXPECT_EQ(InferPrefix(std::string_view("ABc", 2)), "AB") << "what follows a name is none of it";
  EXPECT_EQ(InferPrefix(std::string_view("a2b", 2)), "A 2");
}

TEST(PythonFormatTest, OnlyWhatIsPrintableIsShown) {
  for (const char32_t shown : {0x20,   0x7E,   0xA1,   0xAC,   0xAE,   0x606,  0x61B,  0x61D,  0x6DC,   0x6DE,  0x710,
                               0x180D, 0x180F, 0x2010, 0x2030, 0x2070, 0xF900, 0xFFFC, 0xFFFD, 0x10000, 0x20000}) {
    EXPECT_EQ(PythonQuote("a" + CharOf(shown)), "'a" + CharOf(shown) + "'") << static_cast<uint32_t>(shown);
  }
  for (const auto& [hidden, escape] : {std::pair<char32_t, const char*>{0, "\\x00"},
                                       {0x1F, "\\x1f"},
                                       {0x7F, "\\x7f"},
                                       {0x80, "\\x80"},
                                       {0xA0, "\\xa0"},
                                       {0xAD, "\\xad"},
                                       {0x600, "\\u0600"},
                                       {0x605, "\\u0605"},
                                       {0x61C, "\\u061c"},
                                       {0x6DD, "\\u06dd"},
                                       {0x70F, "\\u070f"},
                                       {0x180E, "\\u180e"},
                                       {0x200A, "\\u200a"},
                                       {0x200B, "\\u200b"},
                                       {0x200F, "\\u200f"},
                                       {0x2028, "\\u2028"},
                                       {0x202A, "\\u202a"},
                                       {0x202E, "\\u202e"},
                                       {0x2060, "\\u2060"},
                                       {0x206F, "\\u206f"},
                                       {0xE000, "\\ue000"},
                                       {0xF8FF, "\\uf8ff"},
                                       {0xFEFF, "\\ufeff"},
                                       {0xFFF0, "\\ufff0"},
                                       {0xFFFB, "\\ufffb"},
                                       {0xFFFE, "\\ufffe"},
                                       {0xFFFF, "\\uffff"},
                                       {0x1FFFE, "\\U0001fffe"},
                                       {0xE0000, "\\U000e0000"}}) {
    EXPECT_EQ(PythonQuote(CharOf(hidden)), std::string("'") + escape + "'");
  }
  for (const auto& [text, quoted] : {std::pair{"a\n\r\t\\", R"('a\n\r\t\\')"},
                                     {"it's", R"("it's")"},
                                     {"\"it's\"", R"('"it\'s"')"},
                                     {"\"x\"", R"('"x"')"}}) {
    EXPECT_EQ(PythonQuote(text), quoted);
  }
}

TEST(PythonFormatTest, FloatsAreThoseOfRepr) {
  for (const auto& [value, text] : {std::pair{0.0, "0.0"},
                                    {-0.0, "-0.0"},
                                    {1e-4, "0.0001"},
                                    {9.5e-5, "9.5e-05"},
                                    {1e15, "1000000000000000.0"},
                                    {9999999999999998.0, "9999999999999998.0"},
                                    {1e16, "1e+16"},
                                    {-1e16, "-1e+16"},
                                    {-2.5, "-2.5"},
                                    {1e100, "1e+100"}}) {
    EXPECT_EQ(FloatRepr(value), text);
  }
  EXPECT_EQ(FloatRepr(std::nan("")), "nan");
  EXPECT_EQ(FloatRepr(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(FloatRepr(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(PythonFormatTest, ValuesAreThoseOfReprAndDumps) {
  const boost::json::value value = {
      {"a", {1, true, nullptr, 2.5}}, {"b", boost::json::array()}, {"c", boost::json::object()}, {"d", {{"e", "f"}}}};
  EXPECT_EQ(PythonRepr(value), "{'a': [1, True, None, 2.5], 'b': [], 'c': {}, 'd': {'e': 'f'}}");
  EXPECT_EQ(JsonDumps(value), R"({"a": [1, true, null, 2.5], "b": [], "c": {}, "d": {"e": "f"}})");
  EXPECT_EQ(JsonDumps(value, 2),
            "{\n  \"a\": [\n    1,\n    true,\n    null,\n    2.5\n  ],\n  \"b\": [],\n  \"c\": {},\n"
            "  \"d\": {\n    \"e\": \"f\"\n  }\n}");
  EXPECT_EQ(JsonDumps({1, {2}, {{"a", 3}, {"b", 4}}}, 1), "[\n 1,\n [\n  2\n ],\n {\n  \"a\": 3,\n  \"b\": 4\n }\n]");
  EXPECT_EQ(PythonStr("it's"), "it's");
  EXPECT_EQ(PythonStr(false), "False");
  EXPECT_EQ(JsonDumps(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(JsonDumps("\"\\\n\r\t\b\f\x01\x1F \x7Fé"), "\"\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u001f \x7Fé\"");
}

}  // namespace
}  // namespace inferflux::dspy
