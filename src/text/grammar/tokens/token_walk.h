// Which tokens can follow at a place of a grammar: one walk over the vocabulary's tree for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/tokens/token_trie.h"

namespace inferflux::text {

class TokenWalk {
 public:
  // Configurations that one walk may make; a grammar that needs more is too ambiguous to be served.
  static constexpr size_t kMaxConfigs = 65'536;

  explicit TokenWalk(const TokenTrie& trie) : trie_(trie), path_(size_t{trie.depth()} + 1) {}

  // Hands out every node below `root` that can be reached from `config`, which holds at `root`, with what holds there.
  // False where `take` said so, or there are too many ways to read a text.
  bool Run(Pushdown& run, uint32_t root, ConfigId config, FunctionRef<bool(uint32_t node, ConfigId config)> take);

 private:
  const TokenTrie& trie_;
  std::vector<ConfigId> path_;  // by depth
};

}  // namespace inferflux::text
