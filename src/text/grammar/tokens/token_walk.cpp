#include "text/grammar/tokens/token_walk.h"

namespace inferflux::text {

bool TokenWalk::Run(Pushdown& run, uint32_t root, ConfigId config,
                    FunctionRef<bool(uint32_t node, ConfigId config)> take) {
  const size_t limit = run.configs() + kMaxConfigs;
  const auto& nodes = trie_.nodes();
  path_[nodes[root].depth] = config;
  for (uint32_t at = root + 1; at < nodes[root].end;) {
    const TokenTrie::Node& node = nodes[at];
    const ConfigId reached = run.Next(path_[node.depth - 1], node.byte);
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

}  // namespace inferflux::text
