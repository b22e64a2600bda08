// Every character of Unicode 14, by Perl's copy of the Unicode Character Database (tools/unicode/list_classes.pl).
#include "unicode/character_classes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <ios>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace inferflux::unicode {
namespace {

struct Range {
  uint32_t first, last;
  std::string category;
  char kind;  // s: white space, w: of a word, -: neither
};

std::vector<Range> Ranges() {
  std::vector<Range> out;
  std::ifstream file(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/unicode/classes.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    Range range;
    std::istringstream(line) >> std::hex >> range.first >> range.last >> range.category >> range.kind;
    out.push_back(range);
  }
  EXPECT_GT(out.size(), 3000u);
  return out;
}

CharClass Expected(const Range& range) {
  static const std::map<std::string, CharClass> kSpecial = {
      {"Lu", CharClass::kUpper},       {"Lt", CharClass::kUpper},       {"Ll", CharClass::kLower},
      {"Lm", CharClass::kOtherLetter}, {"Lo", CharClass::kOtherLetter}, {"Nd", CharClass::kDecimalDigit},
      {"Nl", CharClass::kOtherNumber}, {"No", CharClass::kOtherNumber}};
  if (range.kind == 's') return CharClass::kWhiteSpace;
  if (const auto found = kSpecial.find(range.category); found != kSpecial.end()) return found->second;
  switch (range.category[0]) {
    case 'M':
      return CharClass::kMark;
    case 'P':
      return CharClass::kPunctuation;
    case 'S':
      return CharClass::kSymbol;
    default:
      return CharClass::kOther;
  }
}

// Oniguruma's \w also has Latin-1's superscript digits and fractions, which are not alphabetic.
bool IsLatinNumber(uint32_t code) {
  return code == 0xB2 || code == 0xB3 || code == 0xB9 || (code >= 0xBC && code <= 0xBE);
}

TEST(CharacterClassesTest, EveryCharacterHasItsClass) {
  for (const Range& range : Ranges()) {
    for (uint32_t code = range.first; code <= range.last; ++code) {
      ASSERT_EQ(ClassOf(code), Expected(range)) << std::hex << code;
      ASSERT_EQ(IsWordChar(code), range.kind == 'w' || IsLatinNumber(code)) << std::hex << code;
      ASSERT_EQ(IsOtherCategory(code), range.category[0] == 'C') << std::hex << code;
      ASSERT_EQ(IsNonspacingMark(code), range.category == "Mn") << std::hex << code;
    }
  }
}

TEST(CharacterClassesTest, WhatIsNoCharacterIsOfNoClass) {
  for (const char32_t code : {0xD800u, 0xDFFFu, 0xFFFFu, 0x10FFFFu, 0x110000u, 0xFFFFFFFFu}) {
    EXPECT_EQ(ClassOf(code), CharClass::kOther) << uint32_t{code};
    EXPECT_FALSE(IsWordChar(code)) << uint32_t{code};
    EXPECT_TRUE(IsOtherCategory(code)) << uint32_t{code};
    EXPECT_FALSE(IsNonspacingMark(code)) << uint32_t{code};
  }
}

}  // namespace
}  // namespace inferflux::unicode
