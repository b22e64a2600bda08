// Tokenizers at their edges: space around whole tokens, special tokens, lengths, and the marks of infilling.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/infill_marks.h"
#include "text/tokenizer/vocabularies.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

using testing::AddToken;
using testing::Make;
using testing::Names;
using Ids = std::vector<TokenId>;
using Texts = std::vector<std::string>;

const std::string kSpaceLetter(unicode::kSpaceMarkUtf8);

TEST(WholeTokens, StripEachKindOfAsciiSpaceAndNothingElse) {
  VocabSpec spec = testing::ByteLevelSpec({});
  const TokenId right = AddToken(spec, "<R>", TokenKind::kControl), left = AddToken(spec, "<L>", TokenKind::kControl);
  spec.strips_right = {right};
  spec.strips_left = {left};
  const auto t = Make(std::move(spec));
  const auto encode = [&](const std::string& text) {
    const std::vector<TextSpan> spans = {{text, true}};
    return t->Encode(spans);
  };
  EXPECT_EQ(encode("<R> \t\n\v\f\rx"), (Ids{right, 'x'}));
  EXPECT_EQ(encode("x \t\n\v\f\r<L>"), (Ids{'x', left}));
  EXPECT_EQ(encode("<R>\x08x"), (Ids{right, 8, 'x'}));
  EXPECT_EQ(encode("<R>\x0Ex"), (Ids{right, 14, 'x'}));
  EXPECT_EQ(encode("x\x1F<L>"), (Ids{'x', 31, left}));
  EXPECT_EQ(encode("  <L>  <R>  "), (Ids{left, ' ', ' ', right}));
  EXPECT_EQ(encode("<R>  <L>"), (Ids{right, left}));
  EXPECT_EQ(encode("<L><L>"), (Ids{left, left}));
}

TEST(SpecialTokens, GoAroundATextOnce) {
  struct Row {
    std::optional<TokenId> bos, cls, eos, sep;
    bool add_bos, add_eos;
    Ids tokens, expected;
  };
  const Row rows[] = {
      {1, 2, 3, 4, true, true, {'a'}, {1, 'a', 3}},    {{}, 2, {}, 4, true, true, {'a'}, {2, 'a', 4}},
      {1, 2, 3, 4, false, false, {'a'}, {'a'}},        {1, 2, 3, 4, false, true, {}, {3}},
      {1, 2, 3, 4, true, true, {1, 'a'}, {1, 'a', 3}}, {1, 2, 3, 4, true, true, {'a', 3}, {1, 'a', 3, 3}},
      {1, 2, 3, 4, true, false, {2}, {1, 2}}};
  for (const Row& row : rows) {
    VocabSpec spec = testing::ByteLevelSpec({});
    spec.bos = row.bos;
    spec.cls = row.cls;
    spec.eos = row.eos;
    spec.sep = row.sep;
    spec.add_bos = row.add_bos;
    spec.add_eos = row.add_eos;
    EXPECT_EQ(Make(std::move(spec))->WithSpecials(row.tokens), row.expected);
  }
}

TEST(SpecialTokens, AnyOfSeveralEndsAGeneration) {
  VocabSpec spec = testing::ByteLevelSpec({});
  spec.end_of_generation = {200, 7, 100, 7};
  const auto t = Make(std::move(spec));
  for (TokenId id = 0; id < t->size(); ++id) {
    EXPECT_EQ(t->IsEndOfGeneration(id), id == 7 || id == 100 || id == 200) << id;
  }
  EXPECT_EQ(Ids(t->end_of_generation().begin(), t->end_of_generation().end()), (Ids{7, 100, 200}));
}

TEST(Tokenizers, KnowHowLongATextOfSomeTokensMayBe) {
  VocabSpec spec = testing::ByteLevelSpec({});
  EXPECT_EQ(Make(spec)->MostBytes(10), 120u) << "an unknown character has four bytes";
  AddToken(spec, "abcdefg");
  EXPECT_EQ(Make(spec)->MostBytes(10), 210u);
  EXPECT_EQ(Make(spec)->MostBytes(0), 0u);
  EXPECT_EQ(Make(spec)->MostBytes(-1), std::nullopt);
  VocabSpec stripping = spec;
  stripping.strips_left = {1};
  EXPECT_EQ(Make(stripping)->MostBytes(10), std::nullopt) << "any space may be left out";
  stripping = spec;
  stripping.strips_right = {1};
  EXPECT_EQ(Make(stripping)->MostBytes(10), std::nullopt);
  EXPECT_EQ(Make(testing::SentencePieceSpec("t5", {"a"}))->MostBytes(10), std::nullopt);
  EXPECT_EQ(Make(testing::WordPieceSpec({"a"}))->MostBytes(10), std::nullopt);
  EXPECT_EQ(Make(testing::SentencePieceSpec("llama", {"a"}))->MostBytes(10), 180u) << "the text of a byte's token";
}

TEST(Tokenizers, DecodingDropsTheSpaceThatEncodingAdds) {
  for (const auto& [prefix, drops] : {std::pair(SpacePrefix::kNever, false), std::pair(SpacePrefix::kFirstRun, true),
                                      std::pair(SpacePrefix::kEveryRun, true)}) {
    VocabSpec spec = testing::SentencePieceSpec("llama", {kSpaceLetter, "a"});
    spec.space_prefix = prefix;
    const auto t = Make(std::move(spec));
    EXPECT_EQ(t->adds_space_prefix(), drops);
    EXPECT_EQ(t->Decode(Ids{259, 259, 260}), drops ? " a" : "  a");
    EXPECT_EQ(t->Decode(Ids{260, 259}), "a ");
  }
  EXPECT_TRUE(Make(testing::WordPieceSpec({"a"}))->adds_space_prefix());
  EXPECT_FALSE(Make(testing::ByteLevelSpec({}))->adds_space_prefix());
}

TEST(SentencePieceText, ASpaceIsPutInFrontAsEachRuleSays) {
  const auto encode = [](SpacePrefix prefix, bool squeezes, const std::string& text) {
    VocabSpec spec = testing::SentencePieceSpec("llama", {kSpaceLetter, "a"});
    spec.space_prefix = prefix;
    spec.remove_extra_whitespaces = squeezes;
    const auto t = Make(std::move(spec));
    const std::vector<TextSpan> spans = {{text, true}};
    std::string out;
    for (const std::string& name : Names(*t, t->Encode(spans))) out += name == kSpaceLetter ? "_" : name;
    return out;
  };
  using enum SpacePrefix;
  const std::string spaced = " a<s> a<s>a";
  EXPECT_EQ(encode(kNever, false, spaced), "_a<s>_a<s>a");
  EXPECT_EQ(encode(kFirstRun, false, spaced), "_a<s>_a<s>a");
  EXPECT_EQ(encode(kEveryUnspacedRun, false, spaced), "_a<s>_a<s>_a");
  EXPECT_EQ(encode(kEveryRun, false, spaced), "__a<s>__a<s>_a");
  EXPECT_EQ(encode(kFirstRun, false, "a<s>a"), "_a<s>a");
  EXPECT_EQ(encode(kFirstRun, false, "<s>a"), "<s>a") << "the first run is what begins the text";
  EXPECT_EQ(encode(kEveryUnspacedRun, false, kSpaceLetter + "a"), "_a");
  EXPECT_EQ(encode(kEveryRun, false, kSpaceLetter + "a"), "__a");
  EXPECT_EQ(encode(kEveryRun, true, "  a  a <s>  "), "_a_a<s>");
  EXPECT_EQ(encode(kNever, true, "  a  a <s> a"), "a_a<s>a");
}

TEST(SentencePieceBpe, TheHighestScoreMergesFirst) {
  const auto encode = [](float ab, float bc) {
    VocabSpec spec = testing::SentencePieceSpec("llama", {"a", "b", "c"});
    AddToken(spec, "ab", TokenKind::kNormal, ab);
    AddToken(spec, "bc", TokenKind::kNormal, bc);
    spec.space_prefix = SpacePrefix::kNever;
    const auto t = Make(std::move(spec));
    return Names(*t, t->Encode("abc"));
  };
  const Texts first = {"ab", "c"}, second = {"a", "bc"};
  EXPECT_EQ(encode(-1, -2), first);
  EXPECT_EQ(encode(-2, -1), second);
  EXPECT_EQ(encode(1, 2), second);
  EXPECT_EQ(encode(2, 1), first);
  EXPECT_EQ(encode(-1, 1), second);
  EXPECT_EQ(encode(1, -1), first);
  EXPECT_EQ(encode(0, -0.5F), first);
  EXPECT_EQ(encode(0, 0.5F), second);
  EXPECT_EQ(encode(-3, -3), first) << "the left one of two that are equal";
}

// An unknown character costs ten more than the least likely piece.
TEST(Unigram, AnUnknownCharacterIsTheLastResort) {
  const auto encode = [](float pair, float letter, float least) {
    VocabSpec spec = testing::SentencePieceSpec("t5", {}, /*bytes=*/false);
    AddToken(spec, "ce", TokenKind::kNormal, pair);
    AddToken(spec, "e", TokenKind::kNormal, letter);
    AddToken(spec, "q", TokenKind::kNormal, least);
    spec.space_prefix = SpacePrefix::kNever;
    const auto t = Make(std::move(spec));
    return Names(*t, t->Encode("ce"));
  };
  const Texts whole = {"ce"}, parts = {"<unk>", "e"};
  EXPECT_EQ(encode(-12, -1, -12), whole);
  EXPECT_EQ(encode(-12, 9.5F, -12), whole);
  EXPECT_EQ(encode(-12, 10.5F, -12), parts);
  EXPECT_EQ(encode(1.5F, 11, 5), whole) << "no piece is less likely than 0";
  EXPECT_EQ(encode(1.5F, 12, 5), parts);
  VocabSpec equal = testing::SentencePieceSpec("t5", {});
  AddToken(equal, "a", TokenKind::kNormal, -3);
  AddToken(equal, "b", TokenKind::kNormal, -3);
  AddToken(equal, "ab", TokenKind::kNormal, -6);
  equal.space_prefix = SpacePrefix::kNever;
  const auto t = Make(std::move(equal));
  EXPECT_EQ(Names(*t, t->Encode("ab")), Texts{"ab"}) << "of two that are equal, the one that begins earlier";
}

TEST(InfillMarks, AreThoseOfTheFirstFamilyThatIsWhole) {
  const std::vector<Texts> families = {
      {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"},
      {"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>"},
      {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
      {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
      {"▁<PRE>", "▁<SUF>", "▁<MID>"},
      {"<PRE>", "<SUF>", "<MID>"},
      {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"}};
  const auto marks = [](const Texts& names) {
    VocabSpec spec = testing::ByteLevelSpec({});
    for (const std::string& name : names) AddToken(spec, name, TokenKind::kControl);
    const auto found = FindInfillMarks(*Make(std::move(spec)));
    if (!found) return Ids{};
    return Ids{found->prefix, found->suffix, found->middle, found->repository.value_or(-1), found->file.value_or(-1)};
  };
  for (const Texts& family : families) {
    const bool files = family.size() == 5;
    EXPECT_EQ(marks(family), (Ids{256, 257, 258, files ? 259 : -1, files ? 260 : -1})) << family[0];
    for (size_t missing = 0; missing < 3; ++missing) {
      Texts names = family;
      names.erase(names.begin() + static_cast<std::ptrdiff_t>(missing));
      EXPECT_EQ(marks(names), Ids{}) << family[missing];
    }
  }
  Texts two = families[5];
  two.insert(two.end(), families[1].begin(), families[1].begin() + 3);
  EXPECT_EQ(marks(two), (Ids{259, 260, 261, -1, -1}));
  EXPECT_EQ(marks({"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<file_sep>"}), (Ids{256, 257, 258, -1, 259}));
}

}  // namespace
}  // namespace inferflux::text
