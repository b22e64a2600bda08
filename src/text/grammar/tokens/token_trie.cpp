#include "text/grammar/tokens/token_trie.h"

#include <algorithm>
#include <string_view>

namespace inferflux::text {

TokenTrie::TokenTrie(const Tokenizer& tokenizer, const Spelling& spelling) {
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    const size_t bytes = spelling.Of(id).size();
    if (bytes > 0 && bytes <= kMaxDepth) tokens_.push_back(id);
  }
  std::ranges::sort(tokens_, [&](TokenId a, TokenId b) {
    const auto left = spelling.Of(a), right = spelling.Of(b);
    return left != right ? left < right : a < b;
  });
  nodes_.push_back({});
  std::vector<uint32_t> path = {0};  // from the root to the last token's node
  const auto leave = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  std::string_view before;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view bytes = spelling.Of(tokens_[i]);
    const auto common = static_cast<size_t>(std::ranges::mismatch(before, bytes).in1 - before.begin());
    leave(common);
    for (size_t depth = common; depth < bytes.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.end = 0,
                        .first_token = static_cast<uint32_t>(i),
                        .depth = static_cast<uint16_t>(depth + 1),
                        .byte = static_cast<uint8_t>(bytes[depth])});
    }
    depth_ = std::max(depth_, static_cast<uint16_t>(bytes.size()));
    before = bytes;
  }
  leave(0);
  nodes_[0].end = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.end = 0, .first_token = static_cast<uint32_t>(tokens_.size())});
}

TokenTrie::TokenTrie(const TokenTrie& whole, const std::vector<bool>& kept) {
  const auto is_kept = [&](TokenId id) { return kept[static_cast<size_t>(id)]; };
  const auto count = static_cast<uint32_t>(whole.nodes_.size()) - 1;
  std::vector<bool> needed(count);  // something below it is kept
  for (uint32_t node = count; node-- > 0;) {
    bool any = node == 0 || std::ranges::any_of(whole.TokensAt(node), is_kept);
    for (uint32_t child = node + 1; child < whole.nodes_[node].end && !any; child = whole.nodes_[child].end) {
      any = needed[child];
    }
    needed[node] = any;
  }
  std::vector<uint32_t> open;  // from the root to the last node
  for (uint32_t node = 0; node < count; ++node) {
    if (!needed[node]) continue;
    const Node& from = whole.nodes_[node];
    for (; open.size() > from.depth; open.pop_back()) nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
    open.push_back(static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back(
        {.end = 0, .first_token = static_cast<uint32_t>(tokens_.size()), .depth = from.depth, .byte = from.byte});
    in_whole_.push_back(node);
    for (const TokenId id : whole.TokensAt(node)) {
      if (!is_kept(id)) continue;
      tokens_.push_back(id);
      depth_ = std::max(depth_, from.depth);
    }
  }
  for (const uint32_t node : open) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.end = 0, .first_token = static_cast<uint32_t>(tokens_.size())});
}

uint32_t TokenTrie::Find(uint8_t byte) const {
  for (uint32_t node = 1; node < nodes_[0].end; node = nodes_[node].end) {
    if (nodes_[node].byte == byte) return node;
  }
  return 0;
}

}  // namespace inferflux::text
