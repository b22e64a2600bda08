#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "text/tokenizer/vocabularies.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

using testing::AddToken;
using testing::Make;

std::shared_ptr<const Tokenizer> Bytes() { return Make(testing::ByteLevelSpec({})); }

TEST(Detokenizer, HoldsBackUnfinishedCharacters) {
  Detokenizer d(Bytes());
  EXPECT_EQ(d.Push('a'), "a");
  EXPECT_EQ(d.Push(0xF0), "");
  EXPECT_EQ(d.Push(0x9F), "");
  EXPECT_EQ(d.Push(0x98), "");
  EXPECT_EQ(d.Push(0x80), "\xF0\x9F\x98\x80");
  EXPECT_EQ(d.Finish(), "");
}

TEST(Detokenizer, WhatCanNeverBecomeUtf8IsReplaced) {
  Detokenizer d(Bytes());
  EXPECT_EQ(d.Push(0xFF), "\xEF\xBF\xBD");
  EXPECT_EQ(d.Push(0xE2), "");
  EXPECT_EQ(d.Push('a'),
            "\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(d.Push(0xE2), "");
  EXPECT_EQ(d.Push(0x82), "");
  EXPECT_EQ(d.Finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(d.Finish(), "");
}

// All pieces of a stream are valid UTF-8, lag by at most three bytes, and together equal the text decoded at once.
TEST(Detokenizer, PiecesAddUpToTheWhole) {
  std::mt19937 random(42);
  const auto t = Bytes();
  for (int round = 0; round < 500; ++round) {
    std::vector<TokenId> tokens;
    std::string raw;
    for (int i = 0; i < 60; ++i) {
      // Mostly bytes that begin or continue a character.
      const auto byte = static_cast<uint8_t>(random() % 3 == 0 ? random() : 0x80 + random() % 0x80);
      tokens.push_back(byte);
      raw.push_back(static_cast<char>(byte));
    }
    std::string whole;
    for (size_t at = 0; at < raw.size();) {
      const unicode::Utf8Char c = unicode::DecodeUtf8(raw, at);
      whole += c.valid ? raw.substr(at, c.size) : std::string(unicode::kReplacementUtf8);
      at += c.size;
    }
    Detokenizer d(t);
    std::string streamed;
    for (const TokenId id : tokens) {
      const std::string piece = d.Push(id);
      EXPECT_TRUE(unicode::IsValidUtf8(piece));
      streamed += piece;
    }
    EXPECT_EQ(streamed + d.Finish(), whole);
  }
}

TEST(Detokenizer, ControlTokensAreLeftOutUnlessAskedFor) {
  VocabSpec spec = testing::ByteLevelSpec({});
  const TokenId begin = AddToken(spec, "<|im_start|>", TokenKind::kControl);
  const TokenId end = AddToken(spec, "<|im_end|>", TokenKind::kControl);
  const TokenId call = AddToken(spec, "<tool_call>", TokenKind::kUserDefined);
  const auto t = Make(std::move(spec));
  Detokenizer quiet(t);
  EXPECT_EQ(quiet.Push(end), "");
  EXPECT_EQ(quiet.Push(call), "<tool_call>");
  Detokenizer loud(t, {.shown_control = {end}});
  EXPECT_EQ(loud.Push(end), "<|im_end|>");
  EXPECT_EQ(loud.Push(begin), "");
}

TEST(Detokenizer, TheTokenisersOwnSpaceIsTakenAwayOnce) {
  const std::string mark(unicode::kSpaceMarkUtf8);
  const auto t = Make(testing::SentencePieceSpec("llama", {mark, "a", mark + "a"}));
  const TokenId space_a = *t->Find(mark + "a");
  Detokenizer answer(t);
  EXPECT_EQ(answer.Push(*t->bos()), "");
  EXPECT_EQ(answer.Push(space_a), "a");
  EXPECT_EQ(answer.Push(space_a), " a");
  Detokenizer continuation(t, {.starts_text = false});
  EXPECT_EQ(continuation.Push(space_a), " a");
  Detokenizer bare(t);
  EXPECT_EQ(bare.Push(*t->Find(mark)), "");
  EXPECT_EQ(bare.Push(*t->Find(mark)), " ");
  EXPECT_EQ(bare.Push(*t->Find("a")), "a");
}

}  // namespace
}  // namespace inferflux::text
