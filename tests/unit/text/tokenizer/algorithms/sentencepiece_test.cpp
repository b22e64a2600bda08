#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ctime>
#include <random>

#include "text/tokenizer/vocabularies.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

using testing::AddToken;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Make;
using testing::Names;

const std::string kMark(unicode::kSpaceMarkUtf8);

TEST(SentencePieceBpe, MergesByScoreAndPutsASpaceInFront) {
  const auto t = Make(testing::SentencePieceSpec("llama", {kMark, "a", "b", "c", "bc", "ab", kMark + "a"}));
  EXPECT_THAT(Names(*t, t->Encode("abc")), ElementsAre(kMark + "a", "bc"));
  EXPECT_EQ(t->Decode(t->Encode("abc")), "abc");
  EXPECT_THAT(t->Encode(""), ElementsAre());
}

TEST(SentencePieceBpe, FallsBackToBytes) {
  const auto t = Make(testing::SentencePieceSpec("llama", {kMark, "a"}));
  EXPECT_THAT(Names(*t, t->Encode("a\xC3\xA9")), ElementsAre(kMark, "a", "<0xC3>", "<0xA9>"));
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 30; ++i) text.push_back(static_cast<char>(random()));
    EXPECT_EQ(t->Decode(t->Encode(text)), text);
  }
}

TEST(SentencePieceBpe, WithoutBytesARunOfUnknownsIsOneToken) {
  for (const char* model : {"llama", "t5"}) {
    const auto t = Make(testing::SentencePieceSpec(model, {kMark, "a"}, /*bytes=*/false));
    EXPECT_THAT(Names(*t, t->Encode("axyza")), ElementsAre(kMark, "a", "<unk>", "a")) << model;
  }
}

TEST(SentencePieceBpe, SpacePrefixIsWhatTheModelSays) {
  const auto encode = [](SpacePrefix prefix) {
    VocabSpec spec = testing::SentencePieceSpec("llama", {kMark, "a"});
    spec.space_prefix = prefix;
    const auto t = Make(std::move(spec));
    const std::vector<TextSpan> spans = {{"a<s>a", true}};
    return Names(*t, t->Encode(spans));
  };
  EXPECT_THAT(encode(SpacePrefix::kNever), ElementsAre("a", "<s>", "a"));
  EXPECT_THAT(encode(SpacePrefix::kFirstRun), ElementsAre(kMark, "a", "<s>", "a"));
  EXPECT_THAT(encode(SpacePrefix::kEveryRun), ElementsAre(kMark, "a", "<s>", kMark, "a"));
}

// Splitting a text at spaces must not change the merges: some vocabularies merge across spaces.
TEST(SentencePieceBpe, PiecesMayReachAcrossSpaces) {
  VocabSpec spec = testing::SentencePieceSpec("llama", {kMark, "a", "b", "a" + kMark, "a" + kMark + "b", kMark + "b"});
  spec.space_prefix = SpacePrefix::kNever;
  const auto t = Make(std::move(spec));
  EXPECT_THAT(Names(*t, t->Encode("a b")), ElementsAre("a" + kMark + "b"));
}

TEST(SentencePieceBpe, MergesByRankWhereThereAreMerges) {
  VocabSpec spec = testing::SentencePieceSpec("gemma4", {kMark, "a", "b", "c", "ab", "bc", "abc"});
  spec.space_prefix = SpacePrefix::kNever;
  const auto t = Make(std::move(spec), {"b c", "a b", "a bc"});
  EXPECT_THAT(Names(*t, t->Encode("abc")), ElementsAre("abc"));
  EXPECT_THAT(Names(*t, t->Encode("ab c")), ElementsAre("ab", kMark, "c"));
}

TEST(SentencePieceBpe, AMegabyteOfOneLetterIsNoProblem) {
  const auto t = Make(testing::SentencePieceSpec("llama", {kMark, "a", "aa", "aaaa"}));
  const std::clock_t start = std::clock();
  EXPECT_EQ(t->Encode(std::string(1 << 20, 'a')).size(), (1U << 18) + 1);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
}

TEST(Unigram, TakesTheLikeliestPieces) {
  VocabSpec spec = testing::SentencePieceSpec("t5", {});
  AddToken(spec, kMark, TokenKind::kNormal, -2);
  AddToken(spec, "a", TokenKind::kNormal, -3);
  AddToken(spec, "b", TokenKind::kNormal, -3);
  AddToken(spec, "ab", TokenKind::kNormal, -7);  // less likely than a and b
  AddToken(spec, kMark + "ab", TokenKind::kNormal, -7.5F);
  const auto t = Make(std::move(spec));
  EXPECT_THAT(Names(*t, t->Encode("ab")), ElementsAre(kMark + "ab"));
  EXPECT_THAT(Names(*t, t->Encode("bab")), ElementsAre(kMark, "b", "a", "b"));
}

TEST(Unigram, RemovesExtraWhitespaceWhereTheModelDoes) {
  VocabSpec spec = testing::SentencePieceSpec("t5", {kMark, "a"});
  spec.remove_extra_whitespaces = true;
  const auto t = Make(std::move(spec));
  EXPECT_THAT(Names(*t, t->Encode("  a   a ")), ElementsAre(kMark, "a", kMark, "a"));
}

// A map with one entry, "A" to "a", in Darts-clone's layout: the root, A's unit, and A's leaf.
std::string MapOfOneLetter() {
  std::vector<uint32_t> units(512, 0);
  units[0] = 1 << 10;                              // the root's children are at 1 ^ byte
  units[1 ^ 'A'] = 'A' | (1 << 8) | ((2U) << 10);  // a leaf, whose value is at that index ^ 2
  units[1 ^ 'A' ^ 2] = 0x80000000U | 0;            // the first replacement
  const auto bytes = static_cast<uint32_t>(units.size() * 4);
  std::string map(4 + bytes, '\0');
  std::memcpy(map.data(), &bytes, 4);
  std::memcpy(map.data() + 4, units.data(), bytes);
  return map + std::string("a\0", 2);
}

TEST(Charsmap, ReplacesTheLongestMatch) {
  VocabSpec spec = testing::SentencePieceSpec("t5", {kMark, "a"});
  spec.charsmap = MapOfOneLetter();
  const auto t = Make(std::move(spec));
  EXPECT_THAT(Names(*t, t->Encode("AaA")), ElementsAre(kMark, "a", "a", "a"));
}

TEST(Charsmap, ThatIsCutShortIsAnError) {
  const std::string map = MapOfOneLetter();
  for (const size_t size : {size_t{1}, size_t{3}, size_t{4}, size_t{100}, map.size() / 2}) {
    VocabSpec spec = testing::SentencePieceSpec("t5", {kMark, "a"});
    spec.charsmap = map.substr(0, size);
    const auto t = Tokenizer::Create(std::move(spec), {});
    ASSERT_FALSE(t) << size;
    EXPECT_THAT(t.error().message, HasSubstr("character map"));
  }
}

TEST(Charsmap, OfRandomBytesIsHarmless) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    VocabSpec spec = testing::SentencePieceSpec("t5", {kMark, "a"});
    const uint32_t bytes = 256;
    spec.charsmap.resize(4 + bytes + 40);
    for (char& c : spec.charsmap) c = static_cast<char>(random());
    std::memcpy(spec.charsmap.data(), &bytes, 4);
    const auto t = Make(std::move(spec));
    for (int byte = 0; byte < 256; ++byte) {
      const std::string text(3, static_cast<char>(byte));
      const auto ids = t->Encode(text);
      for (const TokenId id : ids) ASSERT_LT(id, t->size());
      ASSERT_EQ(t->Encode(text), ids) << "no memory of another text is read";
    }
  }
}

}  // namespace
}  // namespace inferflux::text
