#include "unicode/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace inferflux::unicode {
namespace {

constexpr std::string_view kBad = kReplacementUtf8;

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Utf8Test, EveryCharacterIsReadAsItWasWritten) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text = "x";
    AppendUtf8(code, text);
    ASSERT_EQ(text.size(), code < 0x80 ? 2u : code < 0x800 ? 3u : code < 0x10000 ? 4u : 5u) << uint32_t{code};
    const Utf8Char read = DecodeUtf8(text, 1);
    ASSERT_TRUE(read.code == code) << uint32_t{code};
    ASSERT_EQ(read.size, text.size() - 1);
    ASSERT_TRUE(read.valid) << uint32_t{code};
    ASSERT_FALSE(read.truncated) << uint32_t{code};
    ASSERT_TRUE(IsValidUtf8(text)) << uint32_t{code};
  }
}

// Unicode 15, tables 3-8 to 3-11, and each bound of table 3-7.
TEST(Utf8Test, EachMaximalSubpartOfWhatIsInvalidIsReplaced) {
  struct Row {
    std::string_view text, replaced;
  };
  const std::string three = Repeat(kBad, 3), four = Repeat(kBad, 4);
  for (const Row& row :
       {Row{"\xC0\xAF\x80", three}, Row{"\xC1\xBF\x80", three}, Row{"\xED\xA0\x80", three}, Row{"\xE0\x9F\xBF", three},
        Row{"\xF0\x8F\xBF\xBF", four}, Row{"\xF4\x90\x80\x80", four}, Row{"\xF5\x80\x80\x80", four},
        Row{"\xFF\x80\x80\x80", four}, Row{"\xC2\x7F", "\xEF\xBF\xBD\x7F"}, Row{"\xC2\xC0", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        Row{"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\x41"},
        Row{"\xED\x9F\xBF", "\xED\x9F\xBF"}, Row{"\xEE\x80\x80", "\xEE\x80\x80"},
        Row{"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"}}) {
    EXPECT_EQ(ReplaceInvalidUtf8(row.text), row.replaced);
    EXPECT_EQ(IsValidUtf8(row.text), row.text == row.replaced);
  }
}

TEST(Utf8Test, OnlyWhatCouldGoOnIsTruncated) {
  for (const std::string_view begun : {"\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xED\x9F", "\xF4\x8F"}) {
    const Utf8Char read = DecodeUtf8(begun, 0);
    EXPECT_FALSE(read.valid);
    EXPECT_TRUE(read.truncated);
    EXPECT_EQ(read.size, begun.size());
  }
  for (const std::string_view wrong : {"\x80", "\xC1", "\xF5", "\xED\xA0", "\xF4\x90", "\xC3x"}) {
    EXPECT_FALSE(DecodeUtf8(wrong, 0).truncated);
    EXPECT_EQ(DecodeUtf8(wrong, 0).size, 1);
  }
}

TEST(Utf8Test, WhatIsInvalidIsFoundWhereverItIs) {
  for (size_t at = 0; at < 20; ++at) {
    std::string text(20, 'a');
    EXPECT_TRUE(IsValidUtf8(text));
    text[at] = '\xFF';
    EXPECT_FALSE(IsValidUtf8(text)) << at;
    std::string storage, expected = text;
    expected[at] = '\x01';
    EXPECT_EQ(MaskInvalidUtf8(text, storage), expected);
  }
}

TEST(Utf8Test, MaskingKeepsEachOffset) {
  std::string storage;
  EXPECT_EQ(MaskInvalidUtf8("a\xC3\xA9\xE2\x82z\xFF\xF0\x9F\x98", storage), "a\xC3\xA9\x01\x01z\x01\x01\x01\x01");
  const std::string valid = "a\xC3\xA9";
  EXPECT_EQ(MaskInvalidUtf8(valid, storage).data(), valid.data()) << "valid text is not copied";
}

TEST(Utf8Test, ReplacesEveryOccurrenceOnce) {
  EXPECT_EQ(ReplaceAll("aXbXXc", "X", "XX"), "aXXbXXXXc");
  EXPECT_EQ(ReplaceAll("\xE2\x96\x81word\xE2\x96\x81", kSpaceMarkUtf8, " "), " word ");
  EXPECT_EQ(ReplaceAll("aaa", "aa", "b"), "ba");
  EXPECT_EQ(ReplaceAll("", "a", "b"), "");
}

}  // namespace
}  // namespace inferflux::unicode
