// A trie over bytes, walked one byte at a time. Edges are in one open-addressed table keyed by (node, byte), so a wide
// node costs no more than a narrow one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace inferflux::text {

class ByteTrie {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = UINT32_MAX;
  static constexpr int32_t kNoValue = -1;

  ByteTrie();

  // The node of `key`, created if it is new. An empty key is the root.
  Node Insert(std::string_view key);

  // The first value set at a node is kept.
  void SetValue(Node node, int32_t value) {
    if (values_[node] == kNoValue) values_[node] = value;
  }

  // kNone if no key continues with `byte`.
  Node Step(Node node, char byte) const;

  int32_t ValueAt(Node node) const { return values_[node]; }
  size_t node_count() const { return values_.size(); }

 private:
  struct Edge {
    uint64_t key = kEmpty;  // node << 8 | byte
    Node child = kNone;
  };
  static constexpr uint64_t kEmpty = UINT64_MAX;

  size_t FindSlot(uint64_t key) const;
  void Grow();

  std::vector<Edge> edges_;
  std::vector<int32_t> values_;
  Node root_children_[256];
};

}  // namespace inferflux::text
