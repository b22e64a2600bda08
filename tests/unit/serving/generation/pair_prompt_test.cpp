// The tokens that a cross-encoder sees for a query and a document, with a tokenizer of one token a letter.
#include "serving/generation/pair_prompt.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/families/tokenizers/tokenizer_traits.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::serving {
namespace {

using Ids = std::vector<TokenId>;
constexpr TokenId kBegin = 26, kEnd = 27;  // behind the letters a to z

ServedModel Letters(bool begins, bool ends, int32_t separators = 1) {
  text::VocabSpec vocab;
  vocab.model = "gpt2";
  vocab.pre_tokenizer = &model::FindPreTokenizer("gpt-2")->rules;
  for (char letter = 'a'; letter <= 'z'; ++letter) vocab.tokens.emplace_back(1, letter);
  vocab.tokens.insert(vocab.tokens.end(), {"<s>", "</s>"});
  vocab.kinds.assign(26, text::TokenKind::kNormal);
  vocab.kinds.insert(vocab.kinds.end(), 2, text::TokenKind::kControl);
  vocab.bos = kBegin;
  vocab.eos = kEnd;
  vocab.add_bos = begins;
  vocab.add_eos = ends;
  auto tokenizer = text::Tokenizer::Create(std::move(vocab), {});
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  ServedModel out;
  out.tokenizer = std::move(*tokenizer);
  out.pair_separators = separators;
  return out;
}

void ExpectPair(const ServedModel& model, const PairLimits& limits, const Ids& tokens, int32_t second_text) {
  const auto prompt = MakePairPrompt(model, "ab", "cde", limits);
  ASSERT_TRUE(prompt) << prompt.error().message;
  EXPECT_EQ(prompt->tokens, tokens);
  EXPECT_EQ(prompt->second_text, second_text);
}

TEST(PairPromptTest, PutsTheModelsSpecialTokensAroundAndBetweenTheTexts) {
  ExpectPair(Letters(true, true), {}, {kBegin, 0, 1, kEnd, 2, 3, 4, kEnd}, 4);
  ExpectPair(Letters(true, true, 2), {}, {kBegin, 0, 1, kEnd, kEnd, 2, 3, 4, kEnd}, 5);
  ExpectPair(Letters(true, true, 0), {}, {kBegin, 0, 1, 2, 3, 4, kEnd}, 3);
  ExpectPair(Letters(false, true), {}, {0, 1, kEnd, 2, 3, 4, kEnd}, 3);
  ExpectPair(Letters(true, false), {}, {kBegin, 0, 1, 2, 3, 4}, 3);
}

TEST(PairPromptTest, CutsTheEndOfTheDocumentToItsLimits) {
  const ServedModel model = Letters(true, true);
  const Ids whole = {kBegin, 0, 1, kEnd, 2, 3, 4, kEnd}, one_less = {kBegin, 0, 1, kEnd, 2, 3, kEnd};
  ExpectPair(model, {.document = 3}, whole, 4);
  ExpectPair(model, {.document = 2}, one_less, 4);
  ExpectPair(model, {.whole = 8}, whole, 4);
  ExpectPair(model, {.whole = 7}, one_less, 4);
  ExpectPair(model, {.document = 2, .whole = 6}, {kBegin, 0, 1, kEnd, 2, kEnd}, 4);
  ExpectPair(model, {.whole = 1}, {kBegin, 0, 1, kEnd, kEnd}, 4);
}

TEST(PairPromptTest, ATemplateStandsForTheSpecialTokens) {
  ServedModel model = Letters(true, true);
  model.rerank_template = "q{query}x{document}z";
  const TokenId q = 'q' - 'a', x = 'x' - 'a', z = 'z' - 'a';
  ExpectPair(model, {}, {q, 0, 1, x, 2, 3, 4, z}, 0);
  ExpectPair(model, {.whole = 8}, {q, 0, 1, x, 2, 3, 4, z}, 0);
  ExpectPair(model, {.whole = 7}, {q, 0, 1, x, 2, 3, z}, 0);
  ExpectPair(model, {.document = 1}, {q, 0, 1, x, 2, z}, 0);
}

TEST(PairPromptTest, NothingAtAllIsRefused) {
  EXPECT_FALSE(MakePairPrompt(Letters(false, false), "", ""));
  EXPECT_TRUE(MakePairPrompt(Letters(true, false), "", ""));
}

}  // namespace
}  // namespace inferflux::serving
