#include "serving/generation/sampling_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "model/families/tokenizers/tokenizer_traits.h"
#include "serving/generation/build_generation.h"
#include "text/tokenizer/algorithms/byte_alphabet.h"
#include "unicode/utf8.h"

namespace inferflux::serving {
namespace {

// A vocabulary of the 256 bytes.
std::shared_ptr<const text::Tokenizer> Bytes() {
  text::VocabSpec vocab;
  vocab.model = "gpt2";
  vocab.pre_tokenizer = &model::FindPreTokenizer("gpt-2")->rules;
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    unicode::AppendUtf8(text::ByteToAlphabet(static_cast<uint8_t>(byte)), letter);
    vocab.tokens.push_back(letter);
  }
  vocab.kinds.assign(256, text::TokenKind::kNormal);
  auto tokenizer = text::Tokenizer::Create(std::move(vocab), {});
  EXPECT_TRUE(tokenizer.has_value()) << (tokenizer ? "" : tokenizer.error().message);
  return *tokenizer;
}

TEST(SamplingTable, TheDocumentsShowIt) {
  std::ifstream file(std::string(INFERFLUX_SOURCE_DIR) + "/docs/api.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(SamplingTableMarkdown()), std::string::npos) << "docs/api.md must hold this table:\n"
                                                                         << SamplingTableMarkdown();
}

TEST(SamplingTable, DefaultsAskForNothing) {
  const engine::SamplingParams params;
  EXPECT_EQ(params.temperature, 1.0f);
  EXPECT_EQ(params.top_p, 1.0f);
  EXPECT_EQ(params.top_k, 0);
  EXPECT_EQ(params.repetition_penalty, 1.0f);
  EXPECT_EQ(params.presence_penalty, 0.0f);
  EXPECT_EQ(ReplacedByMirostat(params), nullptr);
}

TEST(SamplingTable, MirostatReplacesTheFiltersAndNothingElse) {
  engine::SamplingParams params{.mirostat = true};
  EXPECT_EQ(ReplacedByMirostat(params), nullptr);
  params.temperature = 0.7f;
  params.repetition_penalty = 1.1f;
  EXPECT_EQ(ReplacedByMirostat(params), nullptr);
  params.min_p = 0.1f;
  ASSERT_NE(ReplacedByMirostat(params), nullptr);
  EXPECT_EQ(ReplacedByMirostat(params)->name, "min_p");
  params.mirostat = false;
  EXPECT_EQ(ReplacedByMirostat(params), nullptr);
}

TEST(SamplingOfChoice, ChoicesOfOneSeedDifferAndNoSeedIsRandom) {
  const auto tokenizer = Bytes();
  const SamplingSpec seeded{.seed = -1};
  EXPECT_EQ(SamplingOfChoice(seeded, 0, *tokenizer)->seed, SamplingOfChoice(seeded, 0, *tokenizer)->seed);
  EXPECT_NE(SamplingOfChoice(seeded, 0, *tokenizer)->seed, SamplingOfChoice(seeded, 1, *tokenizer)->seed);
  EXPECT_NE(SamplingOfChoice({}, 0, *tokenizer)->seed, SamplingOfChoice({}, 0, *tokenizer)->seed);
}

TEST(SamplingOfChoice, BiasesAreCheckedAgainstTheVocabulary) {
  const auto tokenizer = Bytes();
  SamplingSpec spec;
  spec.params.logit_bias = {{5, -100.0f}, {255, 1.5f}};
  ASSERT_TRUE(SamplingOfChoice(spec, 0, *tokenizer));
  EXPECT_EQ(SamplingOfChoice(spec, 0, *tokenizer)->logit_bias, spec.params.logit_bias);
  spec.params.logit_bias.emplace_back(256, 1.0f);
  const auto refused = SamplingOfChoice(spec, 0, *tokenizer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, GenerationError::Field::kLogitBias);
  EXPECT_EQ(ToError(refused.error()).message, "logit_bias names the token 256, but the model's ids end at 255");
}

TEST(SamplingOfChoice, DryBreakersAreTheTokensThatEndThem) {
  const auto tokenizer = Bytes();
  const auto newline = tokenizer->Encode("\n").back(), colon = tokenizer->Encode(":").back();
  SamplingSpec spec;
  EXPECT_TRUE(SamplingOfChoice(spec, 0, *tokenizer)->dry_breakers.empty()) << "DRY is off";
  spec.params.dry_multiplier = 1;
  EXPECT_EQ(SamplingOfChoice(spec, 0, *tokenizer)->dry_breakers.size(), 4u);
  spec.dry_sequence_breakers = {"\n", "x:", "\n\n"};
  EXPECT_EQ(SamplingOfChoice(spec, 0, *tokenizer)->dry_breakers, (std::vector<TokenId>{newline, colon}));
}

}  // namespace
}  // namespace inferflux::serving
