// Vocabularies that contradict themselves, and the tokenizers' helper classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "text/tokenizer/algorithms/bpe_merger.h"
#include "text/tokenizer/vocabularies.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

using ::testing::HasSubstr;

void ExpectError(VocabSpec spec, std::string_view part) {
  const auto t = Tokenizer::Create(std::move(spec), {});
  ASSERT_FALSE(t) << part;
  EXPECT_THAT(t.error().message, HasSubstr(std::string(part)));
}

TEST(Vocabulary, ThatContradictsItselfIsAnErrorThatSaysHow) {
  const VocabSpec good = testing::ByteLevelSpec({});
  VocabSpec spec = good;
  spec.model = "plamo2";
  ExpectError(spec, "'plamo2'");
  spec = good;
  spec.kinds.pop_back();
  ExpectError(spec, "255 token kinds");
  spec = good;
  spec.scores.push_back(0);
  ExpectError(spec, "257 scores");
  spec = good;
  spec.scores[3] = std::numeric_limits<float>::quiet_NaN();
  ExpectError(spec, "score of token 3");
  spec = good;
  spec.eos = 256;
  ExpectError(spec, "eos token is 256");
  spec = good;
  spec.end_of_generation = {-1};
  ExpectError(spec, "end-of-generation token is -1");
  spec = good;
  spec.strips_right = {300};
  ExpectError(spec, "right-stripping token is 300");
  spec = good;
  spec.add_bos = true;
  ExpectError(spec, "does not name it");
  spec = good;
  spec.tokens.clear();
  ExpectError(spec, "no tokens");
  spec = good;
  spec.model = "llama";
  spec.scores.clear();
  ExpectError(spec, "scores nor merges");
}

TEST(Vocabulary, EmptyAndDoubleTokensAreHarmless) {
  VocabSpec spec = testing::ByteLevelSpec({});
  for (int i = 0; i < 3; ++i) {
    testing::AddToken(spec, "", TokenKind::kUserDefined);
    testing::AddToken(spec, "", TokenKind::kControl);
    testing::AddToken(spec, "a");
  }
  const auto t = testing::Make(std::move(spec));
  EXPECT_EQ(t->Encode("a"), std::vector<TokenId>{'a'});
  EXPECT_EQ(t->Find("a"), 'a');
  EXPECT_EQ(t->Find("nope"), std::nullopt);
}

TEST(Utf8, InvalidSequencesAreMaximalSubparts) {
  // One U+FFFD for each that b'...'.decode("utf-8", "replace") gives.
  const std::pair<std::string, size_t> cases[] = {
      {"\x80", 1},         {"\xC0\xAF", 2},         {"\xE0\x80\xAF", 3}, {"\xE2\x82", 1}, {"\xF0\x9F\x98", 1},
      {"\xF4\x90\x80", 3}, {"\xED\xA0\x80", 3},     {"\xF5", 1},         {"\xE2\x28", 1}, {"\xF0\x9F\xE2\x82", 2},
      {"\xC2", 1},         {"\xF1\x80\x80\xC2", 2}, {"\xFF\xFE", 2}};
  for (const auto& [text, expected] : cases) {
    size_t replaced = 0;
    for (size_t at = 0; at < text.size();) {
      const unicode::Utf8Char c = unicode::DecodeUtf8(text, at);
      replaced += c.valid ? 0 : 1;
      at += c.size;
    }
    EXPECT_EQ(replaced, expected) << ::testing::PrintToString(text);
    EXPECT_FALSE(unicode::IsValidUtf8(text));
    std::string storage;
    const std::string_view masked = unicode::MaskInvalidUtf8(text, storage);
    EXPECT_TRUE(unicode::IsValidUtf8(masked));
    EXPECT_EQ(masked.size(), text.size());
  }
}

// The heap, which is used for long words, and the plain definition agree.
TEST(BpeMerger, AgreesWithTheDefinition) {
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    // Priorities of pairs of the ids 0 to 6; a pair becomes (left + right) modulo 7.
    uint32_t priority[7][7];
    for (auto& row : priority) {
      for (uint32_t& p : row) p = random() % 3 == 0 ? kNoMerge : random() % 20;
    }
    const auto lookup = [&](const BpeSymbol& left, const BpeSymbol& right) {
      return BpeMerge{priority[left.id][right.id], (left.id + right.id) % 7};
    };
    const uint32_t length = 1 + random() % 80;
    std::vector<TokenId> expected;
    BpeMerger merger;
    for (uint32_t i = 0; i < length; ++i) {
      expected.push_back(static_cast<TokenId>(random() % 7));
      merger.symbols().push_back({expected.back(), i, 1});
    }
    merger.Run(lookup);
    for (;;) {
      size_t best = 0;
      uint32_t least = kNoMerge;
      for (size_t i = 0; i + 1 < expected.size(); ++i) {
        if (priority[expected[i]][expected[i + 1]] < least) least = priority[expected[best = i]][expected[i + 1]];
      }
      if (least == kNoMerge) break;
      expected[best] = (expected[best] + expected[best + 1]) % 7;
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    std::vector<TokenId> got;
    uint32_t bytes = 0;
    for (const BpeSymbol& symbol : merger.symbols()) {
      EXPECT_EQ(symbol.begin, bytes);
      bytes += symbol.size;
      got.push_back(symbol.id);
    }
    EXPECT_EQ(bytes, length);
    EXPECT_EQ(got, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace inferflux::text
