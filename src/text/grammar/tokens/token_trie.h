// The tokens of a vocabulary as a trie of their bytes, in one array in the order of a walk, so that a subtree that does
// not fit is skipped (the layout of llguidance's "toktrie").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "text/grammar/tokens/spelling.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

class TokenTrie {
 public:
  static constexpr uint16_t kMaxDepth = 4096;  // bytes of a token; longer tokens are omitted

  struct Node {
    uint32_t end = 0;          // the first node after this subtree
    uint32_t first_token = 0;  // the tokens that end here: up to the next node's
    uint16_t depth = 0;        // bytes from the root
    uint8_t byte = 0;
  };

  // From all tokens that have a spelling.
  TokenTrie(const Tokenizer& tokenizer, const Spelling& spelling);
  // The part of a trie that has these tokens only, given by id. `whole` must outlive it.
  TokenTrie(const TokenTrie& whole, const std::vector<bool>& kept);

  // In preorder; node 0 is the root. An additional node follows the last one.
  const std::vector<Node>& nodes() const { return nodes_; }
  std::span<const TokenId> TokensAt(uint32_t node) const {
    return std::span(tokens_).subspan(nodes_[node].first_token,
                                      nodes_[node + 1].first_token - nodes_[node].first_token);
  }
  bool IsLeaf(uint32_t node) const { return nodes_[node].end == node + 1; }
  // The same node in the whole trie.
  uint32_t InWhole(uint32_t node) const { return in_whole_.empty() ? node : in_whole_[node]; }
  // Length of the longest token.
  uint16_t depth() const { return depth_; }
  // The node of this one byte; 0 if no token begins with it.
  uint32_t Find(uint8_t byte) const;

 private:
  std::vector<Node> nodes_;
  std::vector<TokenId> tokens_;     // ordered by their bytes
  std::vector<uint32_t> in_whole_;  // by node; empty: this is the whole trie
  uint16_t depth_ = 0;
};

}  // namespace inferflux::text
