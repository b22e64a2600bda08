// The longest matching token, again and again: RWKV's "world" tokenizer, whose vocabulary has every single byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/byte_trie.h"
#include "text/tokenizer/subword_model.h"
#include "text/tokenizer/vocabulary.h"

namespace inferflux::text {

// The bytes of a token in such a vocabulary: \n, \t, \r, \\ and \x0a are escapes, the rest is literal.
std::string UnescapeGreedyToken(std::string_view text);

class GreedyMatcher : public SubwordModel {
 public:
  // `vocabulary` must outlive the model.
  explicit GreedyMatcher(const Vocabulary& vocabulary);

  void Encode(std::string_view run, bool first, std::vector<TokenId>& out) const override;

 private:
  const Vocabulary& vocabulary_;
  ByteTrie tokens_;
};

}  // namespace inferflux::text
