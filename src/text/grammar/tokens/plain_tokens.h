// The tokens of a vocabulary that consist of whole plain characters only (plain_run.h), apart from the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/token_mask.h"
#include "text/grammar/tokens/spelling.h"
#include "text/grammar/tokens/token_trie.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

// Immutable.
class PlainTokens {
 public:
  PlainTokens(const Tokenizer& tokenizer, const Spelling& spelling, const TokenTrie& whole);

  // Characters of the longest plain token.
  uint32_t longest() const { return static_cast<uint32_t>(up_to_.size()) - 1; }
  // The plain tokens of at most that many characters.
  const TokenMask& UpTo(uint32_t characters) const { return up_to_[std::min<size_t>(characters, longest())]; }

  const TokenTrie& plain() const { return plain_; }
  const TokenTrie& others() const { return others_; }
  // Characters of the longest token below a node of `plain`, or at it.
  uint32_t LongestBelow(uint32_t plain_node) const { return longest_below_[plain_node]; }

 private:
  // By token: its plain characters; 0: it is not plain, or has too many of them.
  static std::vector<uint16_t> Characters(const Tokenizer& tokenizer, const Spelling& spelling);
  PlainTokens(int32_t tokens, const std::vector<uint16_t>& characters, const TokenTrie& whole);

  TokenTrie plain_, others_;
  std::vector<TokenMask> up_to_;         // by the number of characters
  std::vector<uint16_t> longest_below_;  // by node of plain_
};

}  // namespace inferflux::text
