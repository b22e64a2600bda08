// Compares masks with brute force, which tries every token of the vocabulary.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <optional>
#include <random>
#include <vector>

#include "text/detokenizer.h"
#include "text/grammar/grammar_compiler.h"
#include "text/grammar/grammar_matcher.h"
#include "text/grammar/grammar_text.h"
#include "text/tokenizer/vocab_builders.h"

namespace inferflux::text {
namespace {

using testing::Gbnf;
using testing::Regex;
using testing::Schema;

// Single bytes, a few hundred words, and an end token.
std::shared_ptr<const Tokenizer> ByteLevelTokenizer() {
  VocabSpec spec = testing::ByteLevelSpec({});
  std::mt19937 random(7);
  const std::string_view letters = "ab1-.,:\"{}[]\\ \n";
  for (int i = 0; i < 400; ++i) {
    std::string token;
    const size_t length = 2 + random() % 5;
    for (size_t c = 0; c < length; ++c)
      token += testing::Letter(static_cast<uint8_t>(letters[random() % letters.size()]));
    testing::AddToken(spec, token);
  }
  for (const char* word : {"true", "false", "null", "name", "aaaaaaaaaaaa", "12345678"}) testing::AddToken(spec, word);
  for (const std::string_view text : {"\": \"", "\",\"", "{\"a", "é\"}", "\xC3", "\xA9\xF0", "🙂", "日本"}) {
    std::string token;
    for (const char c : text) token += testing::Letter(static_cast<uint8_t>(c));
    testing::AddToken(spec, token);
  }
  spec.eos = testing::AddToken(spec, "<|end|>", TokenKind::kControl);
  spec.end_of_generation = {*spec.eos};
  testing::AddToken(spec, "<|im_start|>", TokenKind::kControl);
  return *Tokenizer::Create(std::move(spec), {});
}

const std::vector<GrammarSpec>& Specs() {
  static const std::vector<GrammarSpec> specs = {
      {.kind = GrammarSpec::Kind::kJsonObject},
      Schema(
          R"({"type":"object","properties":{"name":{"type":"string","maxLength":30},"a":{"type":"number","minimum":0},
                 "b":{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":90}},"required":["name","b"]})"),
      Schema(R"({"type":"string","minLength":5,"maxLength":9})"),
      Schema(R"({"type":"array","items":{"type":"string","pattern":"^[ab]+\\d{1,80}$"},"minItems":1})"),
      Regex("[ab]{1,100}(\\.[ab]+)?"),
      {.kind = GrammarSpec::Kind::kChoice, .choices = {"aaa", "aab", "ab 1", "日本é"}},
      Gbnf("root ::= word (\" \" word)* \".\"\nword ::= [a-z]+ | [0-9]{2,}"),
      Gbnf("root ::= \"[\" (root (\",\" root)*)? \"]\" | \"1\" root?"),
      // Inside these strings any plain character may follow: all of them, a few, or all but some.
      Schema(R"({"properties":{"name":{"type":"string"}},"additionalProperties":{"type":"string","maxLength":7}})"),
      Schema(R"({"type":"string","pattern":"^[^1]*1.{0,6}$"})"),
      Schema(R"({"type":"string","pattern":"a","minLength":3,"maxLength":12})"),
      Schema(R"({"type":"array","items":{"type":"string","not":{"enum":["a","ab"]}},"maxItems":3})"),
      Regex("(\"[^\"\\\\\\x00-\\x1f]{0,5}[^\"\\\\\\x00-\\x1fb]*\" )+"),
      Regex("[^\"\\\\\\x00-\\x1f]{4,6}"),
      // The same, by a rule of one character, which is called more than once.
      Schema(R"({"prefixItems":[{"type":"string","minLength":1},{"type":"string","minLength":2}],"items":false})"),
      Schema(R"({"prefixItems":[{"type":"string","minLength":2,"maxLength":4},{"type":"string","maxLength":9},
                 {"type":"string","maxLength":70}],"items":false})"),
      Gbnf("root ::= (c c | c \"x\")+ [!-/]\nc ::= [^\\\"\\\\\\x00-\\x1f]"),
      Gbnf("root ::= \"[\" c* end\nend ::= \"]\" | \"ab\" root?\nc ::= [^\\\"\\\\\\x00-\\x1f] | \"\\\\n\""),
      Gbnf("root ::= text+\ntext ::= [^\\\"\\\\\\x00-\\x1f]{2,9} | \"\\\"\""),
  };
  return specs;
}

void ExpectMaskIsBruteForce(GrammarMatcher& matcher, const Tokenizer& tokenizer, const TokenMask& mask) {
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    if (tokenizer.IsEndOfGeneration(id)) {
      ASSERT_EQ(mask.Allows(id), matcher.can_end()) << "the end token";
      continue;
    }
    GrammarMatcher ahead = matcher;
    ASSERT_EQ(mask.Allows(id), ahead.Accept(id).has_value()) << "token '" << tokenizer.Text(id) << "'";
  }
}

// A random allowed token, each with the same probability; the end is chosen half of the time.
TokenId Draw(const TokenMask& mask, const Tokenizer& tokenizer, std::mt19937& random) {
  std::vector<TokenId> allowed;
  for (TokenId id = 0; id < mask.size(); ++id) {
    if (!mask.Allows(id)) continue;
    if (tokenizer.IsEndOfGeneration(id) && random() % 2 == 0) return id;
    allowed.push_back(id);
  }
  return allowed[random() % allowed.size()];
}

// Compares the mask with brute force, and draws the next token from it; none if the text ends.
void Go(GrammarMatcher& matcher, const Tokenizer& tokenizer, std::mt19937& random, std::optional<TokenId>& next) {
  next.reset();
  const auto mask = matcher.Mask();
  ASSERT_TRUE(mask) << mask.error().message;
  ASSERT_NO_FATAL_FAILURE(ExpectMaskIsBruteForce(matcher, tokenizer, **mask));
  const TokenId drawn = Draw(**mask, tokenizer, random);
  if (tokenizer.IsEndOfGeneration(drawn)) return;
  ASSERT_TRUE(matcher.Accept(drawn));
  next = drawn;
}

TEST(TokenMaskTest, IsWhatTryingEveryTokenGives) {
  const auto tokenizer = ByteLevelTokenizer();
  GrammarCompiler compiler(tokenizer);
  for (size_t which = 0; which < Specs().size(); ++which) {
    SCOPED_TRACE(which);
    const auto grammar = compiler.Compile(Specs()[which]);
    ASSERT_TRUE(grammar) << grammar.error().message;
    std::mt19937 random(static_cast<unsigned>(which));
    size_t places = 0;
    while (places < 60) {
      GrammarMatcher matcher(*grammar, true);
      for (int step = 0; step < 40; ++step, ++places) {
        std::optional<TokenId> next;
        ASSERT_NO_FATAL_FAILURE(Go(matcher, *tokenizer, random, next));
        if (!next) break;
      }
    }
  }
}

TEST(TokenMaskTest, WhatIsSampledUnderASchemaIsADocument) {
  const auto tokenizer = ByteLevelTokenizer();
  GrammarCompiler compiler(tokenizer);
  const auto compiled = testing::CompileOrFail(Specs()[1]);
  int ended = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    GrammarMatcher matcher(*compiler.Compile(Specs()[1]), true);
    std::string text;
    for (int step = 0; step < 2000 && !matcher.must_end(); ++step) {
      const auto mask = matcher.Mask();
      ASSERT_TRUE(mask) << mask.error().message;
      const TokenId next = Draw(**mask, *tokenizer, random);
      if (tokenizer->IsEndOfGeneration(next)) break;
      ASSERT_TRUE(matcher.Accept(next));
      text += tokenizer->Bytes(next);
    }
    if (!matcher.can_end()) continue;
    ++ended;
    EXPECT_TRUE(testing::Matches(compiled, text)) << text;
    boost::system::error_code error;
    const auto document = boost::json::parse(text, error);
    ASSERT_FALSE(error) << text;
    EXPECT_TRUE(document.at("name").is_string() && document.at("b").as_array().size() >= 2) << text;
  }
  EXPECT_GT(ended, 50);
}

// SentencePiece writes a space before a text, which is not part of it.
TEST(TokenMaskTest, TheSpaceInFrontIsNoPartOfTheText) {
  VocabSpec spec = testing::SentencePieceSpec(
      "llama", {"\u2581{", "{", "\u2581", "\u2581\u2581", "\u2581a", "a", "}", "\u2581}", "{}"});
  spec.end_of_generation = {*spec.eos};
  const auto tokenizer = *Tokenizer::Create(std::move(spec), {});
  GrammarCompiler compiler(tokenizer);
  const auto grammar = compiler.Compile(Regex("\\{( a)*\\}"));
  ASSERT_TRUE(grammar);
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    GrammarMatcher matcher(*grammar, true);
    Detokenizer detokenizer(tokenizer);
    std::string text;
    for (int step = 0; step < 100; ++step) {
      std::optional<TokenId> next;
      ASSERT_NO_FATAL_FAILURE(Go(matcher, *tokenizer, random, next));
      if (!next) break;
      text += detokenizer.Push(*next);
    }
    EXPECT_TRUE(!matcher.can_end() || testing::Matches((*grammar)->grammar(), text)) << "'" << text << "'";
  }
}

TEST(TokenMaskTest, AMatcherGoesOnWhereItsMemoryIsFull) {
  const auto tokenizer = ByteLevelTokenizer();
  GrammarCompiler compiler(tokenizer);
  GrammarMatcher matcher(*compiler.Compile(Gbnf("root ::= \"[\" root \"]\" | \"a\"")), true);
  const TokenId open = tokenizer->Encode("[")[0], close = tokenizer->Encode("]")[0];
  const int depth = 20'000;  // each level is a separate position
  for (int i = 0; i < depth; ++i) ASSERT_TRUE(matcher.Accept(open)) << i;
  ASSERT_TRUE(matcher.Accept(tokenizer->Encode("a")[0]));
  for (int i = 0; i < depth; ++i) {
    ASSERT_FALSE(matcher.can_end());
    ASSERT_TRUE(matcher.Accept(close)) << i;
  }
  EXPECT_TRUE(matcher.must_end());
}

TEST(TokenMaskTest, AVocabularyThatCannotSpellTheTextIsAnError) {
  VocabSpec spec;
  spec.model = "gpt2";
  spec.pre_tokenizer = testing::PreTokenizerOf("gpt-2");
  testing::AddToken(spec, "a");
  const auto tokenizer = *Tokenizer::Create(std::move(spec), {});
  GrammarCompiler compiler(tokenizer);
  GrammarMatcher matcher(*compiler.Compile(Regex("ab")), true);
  const auto mask = matcher.Mask();
  ASSERT_TRUE(mask);
  EXPECT_TRUE((*mask)->Allows(0));
  ASSERT_TRUE(matcher.Accept(0));
  const auto stuck = matcher.Mask();
  ASSERT_FALSE(stuck);
  EXPECT_NE(stuck.error().message.find("cannot spell"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::text
