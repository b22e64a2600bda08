// Finds the tokens that can follow at a position of a grammar, in one walk over the vocabulary's trie.
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
  // The number of configurations that one walk may create. A grammar that needs more is too ambiguous.
  static constexpr size_t kMaxConfigs = 65'536;

  explicit TokenWalk(const TokenTrie& trie) : trie_(trie), path_(size_t{trie.depth()} + 1) {}

  // Passes on every node below `root` that can be reached from `config`, which is valid at `root`, with the
  // configuration there. False if `take` returned false, or if a text has too many parses.
  bool Run(Pushdown& run, uint32_t root, ConfigId config, FunctionRef<bool(uint32_t node, ConfigId config)> take);

 private:
  const TokenTrie& trie_;
  std::vector<ConfigId> path_;  // by depth
};

}  // namespace inferflux::text
