// The pre-tokenizers that differ from most by more than their patterns.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "model/families/tokenizers/tokenizer_traits.h"

namespace inferflux::model {
namespace {

// The names for which something holds.
template <class F>
std::string NamesWhere(F holds) {
  std::string out;
  std::istringstream list(PreTokenizerNames());
  for (std::string name; list >> name;) {
    if (name.ends_with(',')) name.pop_back();
    if (holds(*FindPreTokenizer(name))) out += (out.empty() ? "" : " ") + name;
  }
  return out;
}

TEST(PreTokenizerRules, SomeBeginWithBosOrNormaliseOrKeepWholeTokens) {
  EXPECT_EQ(NamesWhere([](const NamedPreTokenizer& row) { return row.adds_bos; }),
            "chameleon llama-bpe llama-v3 llama3 tekken");
  EXPECT_EQ(NamesWhere([](const NamedPreTokenizer& row) { return row.rules.nfc; }),
            "cohere2moe command-r f2llmv2 gpt-neox kormo modern-bert mpt olmo qwen2 qwen35 tiny_aya");
  EXPECT_EQ(NamesWhere([](const NamedPreTokenizer& row) { return row.rules.ignore_merges; }),
            "falcon-h1 falcon3 granite-embed-multi-97m jina-v5-nano lfm2 llama-bpe llama-v3 llama3 midm-2.0 minicpm5 "
            "pixtral smaug-bpe tekken youtu");
}

TEST(PreTokenizerRules, AllFamiliesCome) {
  const auto& all = AllTokenizerTraits();
  ASSERT_GT(all.size(), 50u);
  EXPECT_EQ(all.back(), &OtherTokenizers());
  EXPECT_EQ(FindPreTokenizer("nonesuch"), nullptr);
  text::VocabSpec vocab;
  vocab.tokens = {"a", "b", "c"};
  vocab.end_of_generation = {2, 0};
  EXPECT_TRUE(EndsGeneration(vocab, "a"));
  EXPECT_FALSE(EndsGeneration(vocab, "b"));
  DropGenerationEnd(vocab, "a");
  DropGenerationEnd(vocab, "b");
  EXPECT_EQ(vocab.end_of_generation, (std::vector<TokenId>{2}));
}

TEST(PreTokenizerRules, AnEndOfOneMessageOfSeveralIsNone) {
  const auto ends = [](std::vector<std::string> tokens) {
    text::VocabSpec vocab;
    vocab.tokens = std::move(tokens);
    for (size_t i = 0; i < vocab.tokens.size(); ++i) vocab.end_of_generation.push_back(static_cast<TokenId>(i));
    OtherTokenizers().adjust({}, vocab);
    return fmt::format("{}", fmt::join(vocab.end_of_generation, " "));
  };
  EXPECT_EQ(ends({"<|end|>", "<|calls|>", "<|flush|>"}), "1 2");
  EXPECT_EQ(ends({"<|end|>", "<|calls|>"}), "0 1");
  EXPECT_EQ(ends({"<|end|>", "<|flush|>"}), "0 1");
}

}  // namespace
}  // namespace inferflux::model
