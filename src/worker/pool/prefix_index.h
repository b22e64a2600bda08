// What the pool has sent to which worker: a radix tree of prompts, in blocks of tokens. A worker that has computed a
// prefix most likely still has its KV. The tree is bounded; the blocks that were not used for the longest time go
// first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/token_id.h"

namespace inferflux::worker {

class PrefixIndex {
 public:
  static constexpr size_t kBlock = 32;  // tokens

  explicit PrefixIndex(size_t most_blocks = 1 << 16) : most_blocks_(most_blocks) {}

  // The tokens have been sent to the worker. Prompts of different salts share nothing.
  void Insert(std::span<const TokenId> tokens, uint64_t salt, int worker);
  // How many tokens of the prompt's beginning each worker has been sent, for those that have any.
  std::map<int, int32_t> Match(std::span<const TokenId> tokens, uint64_t salt);
  // The worker has lost its KV.
  void Forget(int worker);

  size_t blocks() const { return nodes_.size(); }

 private:
  // A node is named by the hash of all tokens from the root to its end. Two prefixes of one hash would only be routed
  // alike.
  struct Node {
    std::vector<int> workers;
    std::list<uint64_t>::iterator place;
  };

  std::unordered_map<uint64_t, Node> nodes_;
  std::list<uint64_t> used_;  // the most recently used last
  const size_t most_blocks_;
};

}  // namespace inferflux::worker
