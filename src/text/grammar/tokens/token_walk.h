// Finds the tokens that can follow at a position of a grammar, in one walk over a trie of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/work_budget/work_budget.h"
#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/tokens/token_trie.h"

namespace inferflux::text {

class TokenWalk {
 public:
  // The number of configurations that one walk may create. A grammar that needs more is too ambiguous.
  static constexpr size_t kMaxConfigs = 65'536;

  explicit TokenWalk(const TokenTrie& trie) : trie_(trie), path_(size_t{trie.depth()} + 1) {}

  // Passes on every node below `root` that can be reached from `config`, which is valid at `root`, with the
  // configuration there, as take(node, config). Nodes for which skip(node) is true are left out with all below them.
  // False if `take` returned false, if a text has too many parses, or if the thread's WorkBudget is spent.
  template <class Take, class Skip>
  bool Run(Pushdown& run, uint32_t root, ConfigId config, Take take, Skip skip) {
    const size_t limit = run.configs() + kMaxConfigs;
    const auto& nodes = trie_.nodes();
    path_[nodes[root].depth] = config;
    for (uint32_t at = root + 1; at < nodes[root].end;) {
      if (WorkBudget::Spent()) return false;
      const TokenTrie::Node& node = nodes[at];
      const ConfigId reached = skip(at) ? Pushdown::kDead : run.Next(path_[node.depth - 1], node.byte);
      if (reached == Pushdown::kDead) {
        at = node.end;
        continue;
      }
      if (reached == Pushdown::kTooMany || run.configs() > limit || !take(at, reached)) return false;
      path_[node.depth] = reached;
      ++at;
    }
    return true;
  }
  template <class Take>
  bool Run(Pushdown& run, uint32_t root, ConfigId config, Take take) {
    return Run(run, root, config, take, [](uint32_t) { return false; });
  }

 private:
  const TokenTrie& trie_;
  std::vector<ConfigId> path_;  // by depth
};

}  // namespace inferflux::text
