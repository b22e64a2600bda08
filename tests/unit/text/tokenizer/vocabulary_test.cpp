// Vocabularies that contradict themselves, and the tokenizers' helper classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "text/tokenizer/algorithms/bpe_merger.h"
#include "text/tokenizer/algorithms/greedy_matcher.h"
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

TEST(Vocabulary, EachErrorIsSaidInFull) {
  const auto error = [](const std::function<void(VocabSpec&)>& edit) {
    VocabSpec spec = testing::ByteLevelSpec({});
    edit(spec);
    const auto made = Tokenizer::Create(std::move(spec), {});
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(error([](VocabSpec&) {}), "");
  EXPECT_EQ(error([](VocabSpec& spec) { spec.model = "x"; }),
            "tokenizer model 'x' is not supported; supported are gpt2, llama, gemma4, t5, bert and rwkv");
  EXPECT_EQ(error([](VocabSpec& spec) { spec.tokens.clear(); }), "the vocabulary has no tokens");
  EXPECT_EQ(error([](VocabSpec& spec) { spec.kinds.resize(257); }),
            "the vocabulary has 256 tokens, but 257 token kinds");
  EXPECT_EQ(error([](VocabSpec& spec) { spec.scores.resize(255); }), "the vocabulary has 256 tokens, but 255 scores");
  EXPECT_EQ(error([](VocabSpec& spec) { spec.scores.resize(256); }), "");
  for (const size_t at : {size_t{0}, size_t{255}}) {
    EXPECT_EQ(error([&](VocabSpec& spec) {
                spec.scores.resize(256);
                spec.scores[at] = std::numeric_limits<float>::infinity();
              }),
              fmt::format("the score of token {} is not a number", at));
  }
  const std::pair<const char*, std::optional<TokenId> VocabSpec::*> ids[] = {
      {"bos", &VocabSpec::bos}, {"eos", &VocabSpec::eos},     {"eot", &VocabSpec::eot},
      {"eom", &VocabSpec::eom}, {"unknown", &VocabSpec::unk}, {"sep", &VocabSpec::sep},
      {"cls", &VocabSpec::cls}, {"pad", &VocabSpec::pad},     {"mask", &VocabSpec::mask}};
  for (const auto& [name, member] : ids) {
    for (const TokenId id : {0, 255}) EXPECT_EQ(error([&](VocabSpec& spec) { spec.*member = id; }), "") << name;
    for (const TokenId id : {-1, 256}) {
      EXPECT_EQ(error([&](VocabSpec& spec) { spec.*member = id; }),
                fmt::format("the vocabulary's {} token is {}, but its ids run from 0 to 255", name, id));
    }
  }
  const std::pair<const char*, std::vector<TokenId> VocabSpec::*> lists[] = {
      {"end-of-generation", &VocabSpec::end_of_generation},
      {"left-stripping", &VocabSpec::strips_left},
      {"right-stripping", &VocabSpec::strips_right}};
  for (const auto& [name, member] : lists) {
    EXPECT_EQ(error([&](VocabSpec& spec) { spec.*member = {0, 255}; }), "") << name;
    for (const TokenId id : {-1, 256}) {
      EXPECT_EQ(error([&](VocabSpec& spec) {
                  spec.*member = {0, id};
                }),
                fmt::format("the vocabulary's {} token is {}, but its ids run from 0 to 255", name, id));
    }
  }
  EXPECT_EQ(error([](VocabSpec& spec) { spec.add_bos = true; }),
            "the vocabulary adds a bos token, but does not name it");
  EXPECT_EQ(error([](VocabSpec& spec) { spec.add_eos = true; }),
            "the vocabulary adds an eos token, but does not name it");
  for (const auto member : {&VocabSpec::bos, &VocabSpec::cls}) {
    EXPECT_EQ(error([&](VocabSpec& spec) { spec.add_bos = true, spec.*member = 1; }), "");
  }
  for (const auto member : {&VocabSpec::eos, &VocabSpec::sep}) {
    EXPECT_EQ(error([&](VocabSpec& spec) { spec.add_eos = true, spec.*member = 1; }), "");
  }
}

TEST(Vocabulary, ByteTokensAreTwoHexadecimalDigits) {
  VocabSpec spec = testing::ByteLevelSpec({});
  const std::pair<const char*, const char*> tokens[] = {
      {"<0x0A>", "\n"},     {"<0xff>", "\xFF"},   {"<0xFF>", "\xFF"},     {"<0x9a>", "\x9A"},  {"<0x0G>", "<0x0G>"},
      {"<0xg0>", "<0xg0>"}, {"<0x0A]", "<0x0A]"}, {"<0x0AB>", "<0x0AB>"}, {"<0x0>", "<0x0>"},  {"<1x0A>", "<1x0A>"},
      {"<0x/0>", "<0x/0>"}, {"<0x:0>", "<0x:0>"}, {"<0x@0>", "<0x@0>"},   {"<0x`0>", "<0x`0>"}};
  std::vector<TokenId> ids;
  for (const auto& [text, bytes] : tokens) ids.push_back(testing::AddToken(spec, text, TokenKind::kByte));
  const auto made = testing::Make(std::move(spec));
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(made->Bytes(ids[i]), tokens[i].second) << tokens[i].first;
}

TEST(GreedyMatcher, TakesTheLongestTokenAndPassesWhatNoTokenHas) {
  VocabSpec spec;
  spec.model = "rwkv";
  for (const char* token : {"a", "ab", "abcd", "c", "<?>"}) testing::AddToken(spec, token);
  const auto encoded = [](VocabSpec vocab, std::string_view text) {
    return testing::Make(std::move(vocab))->Encode(text);
  };
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(encoded(spec, "abcd"), (Ids{2}));
  EXPECT_EQ(encoded(spec, "abca"), (Ids{1, 3, 0}));
  EXPECT_EQ(encoded(spec, "aab"), (Ids{0, 1}));
  EXPECT_EQ(encoded(spec, "xa-c--"), (Ids{0, 3})) << "bytes of no token";
  spec.unk = 4;
  EXPECT_EQ(encoded(spec, "xa-c--"), (Ids{4, 0, 4, 3, 4, 4}));
}

TEST(GreedyMatcher, TokensAreWrittenWithEscapes) {
  const std::pair<const char*, const char*> tokens[] = {{"a\\nb", "a\nb"},
                                                        {"\\t\\r", "\t\r"},
                                                        {"\\\\", "\\"},
                                                        {"\\'\\\"", "'\""},
                                                        {"\\q", "q"},
                                                        {"\\", "\\"},
                                                        {"a\\", "a\\"},
                                                        {"\\x41\\xfFz", "A\xFFz"},
                                                        {"\\x4", "x4"},
                                                        {"\\x4g", "x4g"},
                                                        {"\\xg4", "xg4"},
                                                        {"\\x@0", "x@0"},
                                                        {"\\x/0\\x:0", "x/0x:0"},
                                                        {"\\x0", "x0"},
                                                        {"\\xa0", "\xA0"},
                                                        {"\\x9F", "\x9F"},
                                                        {"\\x0`", "x0`"},
                                                        {"", ""}};
  for (const auto& [written, bytes] : tokens) EXPECT_EQ(UnescapeGreedyToken(written), bytes) << written;
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
