#include "text/tokenizer/byte_trie.h"

#include <algorithm>

#include "text/tokenizer/hash.h"

namespace inferflux::text {

ByteTrie::ByteTrie() : edges_(256), values_(1, kNoValue) { std::fill_n(root_children_, 256, kNone); }

size_t ByteTrie::FindSlot(uint64_t key) const {
  const size_t mask = edges_.size() - 1;
  size_t at = MixHash(key, 0) & mask;
  while (edges_[at].key != kEmpty && edges_[at].key != key) at = (at + 1) & mask;
  return at;
}

void ByteTrie::Grow() {
  const std::vector<Edge> old = std::move(edges_);
  edges_.assign(old.size() * 2, Edge{});
  for (const Edge& edge : old) {
    if (edge.key != kEmpty) edges_[FindSlot(edge.key)] = edge;
  }
}

ByteTrie::Node ByteTrie::Insert(std::string_view key) {
  Node node = kRoot;
  for (const char c : key) {
    Node child = Step(node, c);
    if (child == kNone) {
      child = static_cast<Node>(values_.size());
      values_.push_back(kNoValue);
      const auto byte = static_cast<uint8_t>(c);
      if (node == kRoot) {
        root_children_[byte] = child;
      } else {
        if (2 * values_.size() > edges_.size()) Grow();
        const uint64_t edge_key = (static_cast<uint64_t>(node) << 8) | byte;
        edges_[FindSlot(edge_key)] = {edge_key, child};
      }
    }
    node = child;
  }
  return node;
}

ByteTrie::Node ByteTrie::Step(Node node, char byte) const {
  if (node == kRoot) return root_children_[static_cast<uint8_t>(byte)];
  return edges_[FindSlot((static_cast<uint64_t>(node) << 8) | static_cast<uint8_t>(byte))].child;
}

}  // namespace inferflux::text
