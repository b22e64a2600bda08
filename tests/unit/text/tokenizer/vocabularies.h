// Tokenizers with small vocabularies, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/vocab_builders.h"

namespace inferflux::text::testing {

inline std::shared_ptr<const Tokenizer> Make(VocabSpec spec, std::vector<std::string> merges = {}) {
  auto tokenizer = Tokenizer::Create(std::move(spec), MergeSpec{std::move(merges)});
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? *tokenizer : nullptr;
}

// The text of each token, for readable tests.
inline std::vector<std::string> Names(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  std::vector<std::string> names;
  for (const TokenId id : tokens) names.emplace_back(tokenizer.Text(id));
  return names;
}

}  // namespace inferflux::text::testing
