#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "text/tokenizer/vocabularies.h"

namespace inferflux::text {
namespace {

using testing::AddToken;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Make;
using testing::Names;

TEST(ByteLevelBpe, MergesTheEarliestPairFirst) {
  const std::vector<std::string> merges = {"b c", "a b", "ab c"};
  const auto t = Make(testing::ByteLevelSpec({"b c", "a b", "ab c"}), merges);
  EXPECT_THAT(Names(*t, t->Encode("abc")), ElementsAre("a", "bc"));
  EXPECT_THAT(Names(*t, t->Encode("ab")), ElementsAre("ab"));
}

TEST(ByteLevelBpe, TakesTheLeftmostOfEqualPairs) {
  const auto t = Make(testing::ByteLevelSpec({"a a"}), {"a a"});
  EXPECT_THAT(Names(*t, t->Encode("aaaaa")), ElementsAre("aa", "aa", "a"));
}

TEST(ByteLevelBpe, NeverMergesAcrossWords) {
  const auto t = Make(testing::ByteLevelSpec({"a Ġ", "Ġ b"}), {"a Ġ", "Ġ b"});
  EXPECT_THAT(Names(*t, t->Encode("a b")), ElementsAre("a", "Ġb"));
}

TEST(ByteLevelBpe, IgnoresMergesOnlyWhereTheModelDoes) {
  const std::vector<std::string> merges = {"a b", "b c"};  // abc is a token that no merge produces
  const auto spec = [&](const char* pre) {
    VocabSpec s = testing::ByteLevelSpec({"a b", "b c"}, pre);
    AddToken(s, "abc");
    return s;
  };
  const auto llama = Make(spec("llama-bpe"), merges);
  EXPECT_THAT(Names(*llama, llama->Encode("abc")), ElementsAre("abc"));
  const auto gpt2 = Make(spec("gpt-2"), merges);
  EXPECT_THAT(Names(*gpt2, gpt2->Encode("abc")), ElementsAre("ab", "c"));
}

// An intermediate merge may produce a piece that is not a token.
TEST(ByteLevelBpe, SpellsPiecesThatAreNoTokensInBytes) {
  VocabSpec spec = testing::ByteLevelSpec({});
  AddToken(spec, "abc");
  const auto t = Make(std::move(spec), {"a b", "ab c"});
  EXPECT_THAT(Names(*t, t->Encode("abc")), ElementsAre("abc"));
  EXPECT_THAT(Names(*t, t->Encode("abd")), ElementsAre("a", "b", "d"));
}

TEST(ByteLevelBpe, RoundTripsAnyBytes) {
  std::mt19937 random(7);
  for (const char* pre :
       {"gpt-2", "llama-bpe", "deepseek-llm", "deepseek-v3", "gpt-4o", "bloom", "afmoe", "superbpe"}) {
    const auto t = Make(testing::ByteLevelSpec({"Ġ a", "Ã ©", "Ġ Ġ"}, pre), {"Ġ a", "Ã ©", "Ġ Ġ"});
    for (int round = 0; round < 200; ++round) {
      std::string text;
      for (int i = 0; i < 40; ++i) text.push_back(static_cast<char>(random() % (round % 2 == 0 ? 256 : 128)));
      EXPECT_EQ(t->Decode(t->Encode(text)), text) << pre << ", round " << round;
    }
  }
}

TEST(ByteLevelBpe, ComposesCharactersWhereTheModelDoes) {
  const auto qwen = Make(testing::ByteLevelSpec({}, "qwen2"));
  EXPECT_EQ(qwen->Encode("e\xCC\x81"), qwen->Encode("\xC3\xA9"));
  EXPECT_EQ(qwen->Decode(qwen->Encode("e\xCC\x81\xFF")), "\xC3\xA9\xFF");
  const auto llama = Make(testing::ByteLevelSpec({}, "llama-bpe"));
  EXPECT_EQ(llama->Decode(llama->Encode("e\xCC\x81")), "e\xCC\x81");
}

TEST(ByteLevelBpe, BytesAreThoseOfTheText) {
  VocabSpec spec = testing::ByteLevelSpec({"Ġ a"});
  const TokenId user = AddToken(spec, "Ġé", TokenKind::kUserDefined);
  const TokenId control = AddToken(spec, "<s>", TokenKind::kControl);
  const auto t = Make(std::move(spec), {"Ġ a"});
  EXPECT_EQ(t->Bytes(256), " a");
  EXPECT_EQ(t->Bytes(0xE9), "\xE9");
  EXPECT_EQ(t->Bytes(user), "Ġé");  // matched whole, so it is literal
  EXPECT_EQ(t->Bytes(control), "");
  EXPECT_EQ(t->Bytes(control, true), "<s>");
  EXPECT_EQ(t->Bytes(-1), "");
  EXPECT_EQ(t->Bytes(t->size()), "");
}

TEST(ByteLevelBpe, SpecialsAreAddedWhereTheFileSaysSo) {
  VocabSpec spec = testing::ByteLevelSpec({});
  spec.bos = AddToken(spec, "<s>", TokenKind::kControl);
  spec.eos = AddToken(spec, "</s>", TokenKind::kControl);
  spec.add_bos = true;
  spec.end_of_generation = {*spec.eos, *spec.eos};
  const TokenId bos = *spec.bos;
  const TokenId eos = *spec.eos;
  const auto t = Make(std::move(spec));
  EXPECT_THAT(t->WithSpecials({'a'}), ElementsAre(bos, 'a'));
  EXPECT_THAT(t->WithSpecials({bos, 'a'}), ElementsAre(bos, 'a'));
  EXPECT_THAT(t->WithSpecials({}), ElementsAre(bos));
  EXPECT_TRUE(t->IsEndOfGeneration(eos));
  EXPECT_FALSE(t->IsEndOfGeneration(bos));
  EXPECT_THAT(t->end_of_generation(), ElementsAre(eos));
}

TEST(ByteLevelBpe, AMegabyteOfOneLetterIsNoProblem) {
  const std::vector<std::string> merges = {"a a", "aa aa", "aaaa aaaa"};
  const auto t = Make(testing::ByteLevelSpec(merges), merges);
  const std::clock_t start = std::clock();
  const auto tokens = t->Encode(std::string(1 << 20, 'a'));
  EXPECT_EQ(tokens.size(), (1U << 20) / 8);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);  // sanitised builds are slow
}

// A contraction is a word of its own: what follows it is not merged with its end.
TEST(PreTokenizers, ContractionsEndWherePatternsEndThem) {
  std::vector<std::string> merges = {testing::Letter(0xBF) + " x"};
  for (const char* end : {"s", "S", "t", "T", "m", "M", "d", "D", "e", "E", "l", "L"})
    merges.push_back(std::string(end) + " x");
  const auto counts = [&](std::string_view pre, const std::string& text) {
    return Make(testing::ByteLevelSpec(merges, pre), merges)->Encode(text).size() - text.size();
  };
  for (const char* end : {"s", "t", "m", "d", "re", "ve", "ll"}) {
    EXPECT_EQ(counts("gpt-2", "a'" + std::string(end) + "x"), 0u) << end;
    EXPECT_EQ(counts("llama-bpe", "a'" + std::string(end) + "x"), 0u) << end;
  }
  for (const char* end : {"S", "T", "M", "D", "RE", "VE", "LL", "rE", "Ve", "lL"}) {
    EXPECT_EQ(counts("gpt-2", "a'" + std::string(end) + "x"), size_t{0} - 1) << end << " is no contraction";
    EXPECT_EQ(counts("llama-bpe", "a'" + std::string(end) + "x"), 0u) << end;
  }
  EXPECT_EQ(counts("llama-bpe", "a'\xC5\xBFx"), 0u) << "a long s is an s";
  EXPECT_EQ(counts("gpt-2", "a'\xC5\xBFx"), size_t{0} - 1);
  for (const char* end : {"le", "rl", "el"}) {
    EXPECT_EQ(counts("llama-bpe", "a'" + std::string(end) + "x"), size_t{0} - 1) << end << " is no contraction";
  }
}

TEST(PreTokenizers, AreNeededToCutText) {
  VocabSpec spec = testing::ByteLevelSpec({});
  spec.pre_tokenizer = nullptr;
  EXPECT_THAT(Tokenizer::Create(std::move(spec), {}).error().message, HasSubstr("without a pre-tokeniser"));
}

TEST(Merges, ThatAreNotPairsAreAnErrorThatNamesThem) {
  for (const char* merge : {"ab", "", "a ", " "}) {
    const auto t = Tokenizer::Create(testing::ByteLevelSpec({}), MergeSpec{{"a b", merge}});
    ASSERT_FALSE(t) << merge;
    EXPECT_THAT(t.error().message, HasSubstr("merge 1 "));
  }
}

}  // namespace
}  // namespace inferflux::text
