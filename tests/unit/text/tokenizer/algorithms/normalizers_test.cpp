// Which characters WordPiece cuts words at, each range at its ends, and what a precompiled character map replaces.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer/vocabularies.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

using testing::Make;
using testing::Names;

std::string Utf8Of(char32_t code) {
  std::string out;
  unicode::AppendUtf8(code, out);
  return out;
}

// Of "aXa": "word" for one word, "cut" for three, "space" for two, and "gone" if only "aa" is left.
std::string CutAt(const Tokenizer& tokenizer, uint32_t code) {
  const auto names = Names(tokenizer, tokenizer.Encode("a" + Utf8Of(code) + "a"));
  if (names.size() == 3) return "cut";
  if (names.size() == 2) return names[1] == "a" ? "gone" : "space";
  return "word";
}

TEST(WordPiece, IdeographsAndPunctuationAreWordsOfTheirOwn) {
  const std::string mark(unicode::kSpaceMarkUtf8);
  const auto t = Make(testing::WordPieceSpec({mark + "a", "a"}));
  const std::pair<uint32_t, uint32_t> ideographs[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0x20000, 0x2A6DF},
                                                      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                                      {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  VocabSpec cased = testing::WordPieceSpec({mark + "a", "a"});
  cased.strip_accents = cased.lowercase = false;  // nothing is decomposed
  const auto plain = Make(std::move(cased));
  for (const auto& [first, last] : ideographs) {
    EXPECT_EQ(CutAt(*plain, first), "cut") << first;
    EXPECT_NE(CutAt(*plain, last), "word") << last;  // some are not assigned, and so left out
  }
  for (const uint32_t other : {0x33FF, 0x4DC0, 0x4DFF, 0xA000, 0x2A6E0, 0x2A6FF, 0x2B820, 0x2B91F, 0x2CEB0, 0xFB00,
                               0x2F7FF, 0x2FA20, 0x1FFFF}) {
    EXPECT_NE(CutAt(*plain, other), "cut") << other;
  }
  for (uint32_t c = 0x21; c < 0x7F; ++c) {
    const bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (c == 'a' || c == 'A') continue;
    EXPECT_EQ(CutAt(*t, c), letter ? "word" : "cut") << static_cast<char>(c);
  }
  EXPECT_EQ(CutAt(*t, 0xA1), "cut") << "punctuation beyond ASCII";
  EXPECT_EQ(CutAt(*t, 0xA9), "word") << "a symbol";
  for (const uint32_t space : {0x20, 0x09, 0x0A, 0x0D, 0xA0, 0x3000}) EXPECT_EQ(CutAt(*t, space), "space") << space;
  for (const uint32_t gone : {0x01, 0x08, 0x0B, 0x0E, 0x1F, 0x7F, 0x85, 0xAD, 0x200B, 0xFFFD, 0xE000}) {
    if (gone == 0x0B || gone == 0x85) continue;  // white space as well
    EXPECT_EQ(CutAt(*t, gone), "gone") << gone;
  }
  EXPECT_EQ(CutAt(*t, 0x301), "gone") << "an accent";
  EXPECT_EQ(CutAt(*plain, 0x301), "word") << "accents stay where the model says so";
}

struct Unit {
  uint32_t at, value;
};

// A map in Darts-clone's layout: its trie, then its replacements, each with a zero behind it.
std::string MapOf(const std::vector<Unit>& given, const std::string& replacements) {
  std::vector<uint32_t> units(512, 0);
  for (const Unit& unit : given) units[unit.at] = unit.value;
  const auto bytes = static_cast<uint32_t>(units.size() * 4);
  std::string map(4 + bytes, '\0');
  std::memcpy(map.data(), &bytes, 4);
  std::memcpy(map.data() + 4, units.data(), bytes);
  return map + replacements;
}

constexpr uint32_t kLeafMark = 1 << 8, kFarMark = 1 << 9, kValueMark = 1u << 31;
constexpr uint32_t Near(uint32_t offset) { return offset << 10; }
constexpr uint32_t Far(uint32_t offset) { return kFarMark | ((offset >> 8) << 10); }

TEST(Charsmap, ReplacesWhatItsTrieHoldsAndNothingElse) {
  // A child is at its parent's place ^ the parent's offset ^ its byte, and a leaf's value is at the child 0.
  const std::vector<Unit> units = {
      {0, Near(1)},
      {1 ^ 'A', 'A' | kLeafMark | Near(3)},        // "A": its children at 0x43
      {0x43, kValueMark | 0},                      //
      {0x43 ^ 'B', 'B' | kLeafMark | Far(0x100)},  // "AB": at 1, its children at 0x101
      {0x101, kValueMark | 2},                     //
      {1 ^ 'C', 'C' | Near(0x80)},                 // "C" is nothing; its children at 0xC2
      {0xC2 ^ 'D', 'D' | kLeafMark | Near(1)},     // "CD": at 0x86, its children at 0x87
      {0x87, kValueMark | 2},                      //
      {1 ^ 'E', 'E' | kLeafMark | Near(0x100)},    // "E" has a replacement that is not there
      {(1 ^ 'E') ^ 0x100, kValueMark | 100},       //
      {1 ^ 'F', 'F' | kLeafMark | Near(0x100)},    // "F" has one that does not end
      {(1 ^ 'F') ^ 0x100, kValueMark | 6},         //
      {1 ^ 'G', 'G' | kLeafMark | Near(0x100)},    // "G" is left out
      {(1 ^ 'G') ^ 0x100, kValueMark | 1},         //
      {1 ^ 'H', 'H' | kLeafMark | Near(0x200)},    // "H" has its value behind the trie
  };
  VocabSpec spec = testing::SentencePieceSpec("t5", {"a"});
  spec.space_prefix = SpacePrefix::kNever;
  spec.charsmap = MapOf(units, std::string("a\0xyz\0zz", 8));
  const auto t = Make(std::move(spec));
  const auto mapped = [&](const std::string& text) { return t->Decode(t->Encode(text)); };
  EXPECT_EQ(mapped("A"), "a");
  EXPECT_EQ(mapped("AB"), "xyz");
  EXPECT_EQ(mapped("ABAACB"), "xyzaaCB");
  EXPECT_EQ(mapped("CCDC"), "CxyzC");
  EXPECT_EQ(mapped("[E]"), "[E]");
  EXPECT_EQ(mapped("[F]"), "[F]");
  EXPECT_EQ(mapped("[G]"), "[]");
  EXPECT_EQ(mapped("[H]"), "[H]");
  EXPECT_EQ(t->Decode(t->Encode(std::string_view("AB").substr(0, 1))), "a") << "what follows a text is none of it";
  EXPECT_EQ(mapped("B\xC3\xA4\xFF"), "B\xC3\xA4\xFF");
  EXPECT_EQ(mapped(std::string("A\0A", 3)), std::string("a\0a", 3));
}

TEST(Charsmap, ItsSizesMustFit) {
  const auto error = [](const std::string& map) {
    VocabSpec spec = testing::SentencePieceSpec("t5", {"a"});
    spec.charsmap = map;
    const auto made = Tokenizer::Create(std::move(spec), {});
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(error(""), "");
  EXPECT_EQ(error(std::string(3, '\0')), "the normaliser's character map has 3 bytes, too few for its header");
  EXPECT_EQ(error(std::string(4, '\0')), "") << "an empty trie";
  EXPECT_EQ(error(std::string("\x04\0\0\0\0\0\0\0", 8)), "");
  EXPECT_EQ(error(std::string("\x04\0\0\0\0\0\0", 7)),
            "the normaliser's character map says its trie has 4 bytes, but 3 follow");
  EXPECT_EQ(error(std::string("\x05\0\0\0\0\0\0\0\0", 9)),
            "the normaliser's character map says its trie has 5 bytes, but 5 follow");
}

}  // namespace
}  // namespace inferflux::text
