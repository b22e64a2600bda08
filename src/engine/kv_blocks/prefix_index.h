// Finds the KV blocks that hold the start of a prompt. Each indexed block knows the block before it, so the index is a
// forest of token runs. A block is found by its parent's identity and a hash of its own tokens. Every hit compares the
// tokens, so a hash collision costs time but never returns another prompt's KV. Each salt has its own root.
//
// An indexed block is immutable. All but the last of a run are full. The last may be partly filled; then it can be
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

  // What precedes a block: an indexed full block, or the root of a salt.
  struct Place {
    int32_t parent = kRoot;
    uint64_t salt = 0;
  };
  struct Match {
    std::vector<int32_t> blocks;  // in order; all but the last are used completely
    int32_t tokens = 0;           // matched in total
  };

  PrefixIndex(int32_t blocks, int32_t block_size);

  // Returns the longest run of indexed blocks that `tokens` starts with. It may use only the first tokens of its last
  // block.
  Match Find(std::span<const TokenId> tokens, uint64_t salt) const;

  // Returns the block that holds exactly these tokens at this place.
  std::optional<int32_t> FindBlock(Place place, std::span<const TokenId> tokens) const;

  // Returns the block at this place with the longest common prefix with these tokens, and its length.
  struct Part {
    int32_t block = kRoot;
    int32_t tokens = 0;
  };
  Part FindPart(Place place, std::span<const TokenId> tokens) const;

  // `block` must not be indexed; `tokens` must have 1 to block_size tokens.
  void Insert(Place place, int32_t block, std::span<const TokenId> tokens);
  // `block` must not have children.
  void Remove(int32_t block);

  bool contains(int32_t block) const { return !nodes_[static_cast<size_t>(block)].tokens.empty(); }
  int32_t children(int32_t block) const { return nodes_[static_cast<size_t>(block)].children; }
  size_t size() const { return exact_.size(); }

 private:
  // Prompts that diverge inside a block share its first token: the search looks at this many of the newest blocks.
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
