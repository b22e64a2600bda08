// Finds the KV blocks that hold the beginning of a prompt. Each indexed block knows the block before it, so the index
// is a forest of token runs: a block is found by its parent's identity and a hash of its own tokens, and its tokens are
// compared on every hit, so that a collision can cost time but never hand out somebody else's KV. Roots are apart by
// salt.
//
// An indexed block is immutable. All but the last of a run are full; the last may be partly filled, and then it can be
// matched but has no children.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/token_id.h"

namespace inferflux::engine {

class PrefixIndex {
 public:
  static constexpr int32_t kRoot = -1;

  // What stands before a block: an indexed full block, or the beginning of everything under a salt.
  struct Place {
    int32_t parent = kRoot;
    uint64_t salt = 0;
  };
  struct Match {
    std::vector<int32_t> blocks;  // in order; all but the last are used whole
    int32_t tokens = 0;           // matched in all
  };

  PrefixIndex(int32_t blocks, int32_t block_size);

  // The longest run of indexed blocks that `tokens` begins with; of its last block it may use only the first few
  // tokens.
  Match Find(std::span<const TokenId> tokens, uint64_t salt) const;

  // The block that holds exactly these tokens at this place.
  std::optional<int32_t> FindBlock(Place place, std::span<const TokenId> tokens) const;

  // A block at this place that begins with these tokens, in whole or in part: the longest match and its length.
  struct Part {
    int32_t block = kRoot;
    int32_t tokens = 0;
  };
  Part FindPart(Place place, std::span<const TokenId> tokens) const;

  // `block` must not be indexed, `tokens` at most a block's worth and not empty.
  void Insert(Place place, int32_t block, std::span<const TokenId> tokens);
  // `block` must have no children left.
  void Remove(int32_t block);

  bool contains(int32_t block) const { return !nodes_[static_cast<size_t>(block)].tokens.empty(); }
  int32_t children(int32_t block) const { return nodes_[static_cast<size_t>(block)].children; }
  size_t size() const { return exact_.size(); }

 private:
  // Prompts that part ways in the middle of a block share its first token: that many of the newest are looked at.
  static constexpr size_t kMaxBranches = 64;

  struct Node {
    Place place;
    std::vector<TokenId> tokens;  // empty: not indexed
    int32_t children = 0;
  };

  bool At(int32_t block, Place place) const;

  int32_t block_size_;
  std::vector<Node> nodes_;                                      // [block]
  std::unordered_multimap<uint64_t, int32_t> exact_;             // by place and all tokens
  std::unordered_map<uint64_t, std::vector<int32_t>> branches_;  // by place and first token, the newest last
};

}  // namespace inferflux::engine
