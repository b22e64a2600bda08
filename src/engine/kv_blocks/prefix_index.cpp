#include "engine/kv_blocks/prefix_index.h"

#include <algorithm>
#include <cassert>

#include "base/mix64.h"

namespace inferflux::engine {
namespace {

uint64_t Hash(PrefixIndex::Place place, std::span<const TokenId> tokens) {
  uint64_t hash = place.parent == PrefixIndex::kRoot ? Mix64(place.salt ^ 0x9e3779b97f4a7c15u)
                                                     : Mix64(static_cast<uint64_t>(place.parent));
  for (const TokenId token : tokens) hash = Mix64(hash + 0x9e3779b97f4a7c15u + static_cast<uint32_t>(token));
  return hash;
}

}  // namespace

PrefixIndex::PrefixIndex(int32_t blocks, int32_t block_size)
    : block_size_(block_size), nodes_(static_cast<size_t>(blocks)) {}

bool PrefixIndex::At(int32_t block, Place place) const {
  const Place& own = nodes_[block].place;
  return own.parent == place.parent && own.salt == place.salt;
}

std::optional<int32_t> PrefixIndex::FindBlock(Place place, std::span<const TokenId> tokens) const {
  const auto [begin, end] = exact_.equal_range(Hash(place, tokens));
  for (auto it = begin; it != end; ++it) {
    if (At(it->second, place) && std::ranges::equal(nodes_[it->second].tokens, tokens)) return it->second;
  }
  return std::nullopt;
}

PrefixIndex::Part PrefixIndex::FindPart(Place place, std::span<const TokenId> tokens) const {
  Part best;
  if (tokens.empty()) return best;
  const auto branches = branches_.find(Hash(place, tokens.first(1)));
  if (branches == branches_.end()) return best;
  const auto& blocks = branches->second;
  for (size_t i = 0; i < std::min(blocks.size(), kMaxBranches); ++i) {
    const int32_t block = blocks[blocks.size() - 1 - i];
    if (!At(block, place)) continue;
    const auto& own = nodes_[block].tokens;
    const auto differs = std::ranges::mismatch(own, tokens);
    const auto length = static_cast<int32_t>(differs.in1 - own.begin());
    if (length > best.tokens) best = {.block = block, .tokens = length};
  }
  return best;
}

PrefixIndex::Match PrefixIndex::Find(std::span<const TokenId> tokens, uint64_t salt) const {
  Match match;
  Place place{.parent = kRoot, .salt = salt};
  const auto size = static_cast<size_t>(block_size_);
  while (tokens.size() >= size) {
    const auto block = FindBlock(place, tokens.first(size));
    if (!block) break;
    match.blocks.push_back(*block);
    match.tokens += block_size_;
    tokens = tokens.subspan(size);
    place.parent = *block;
  }
  const Part part = FindPart(place, tokens.first(std::min(tokens.size(), size)));
  if (part.tokens > 0) {
    match.blocks.push_back(part.block);
    match.tokens += part.tokens;
  }
  return match;
}

void PrefixIndex::Insert(Place place, int32_t block, std::span<const TokenId> tokens) {
  assert(!contains(block) && !tokens.empty() && tokens.size() <= static_cast<size_t>(block_size_));
  nodes_[block].place = place;
  nodes_[block].tokens.assign(tokens.begin(), tokens.end());
  if (place.parent != kRoot) ++nodes_[place.parent].children;
  exact_.emplace(Hash(place, tokens), block);
  branches_[Hash(place, tokens.first(1))].push_back(block);
}

void PrefixIndex::Remove(int32_t block) {
  Node& node = nodes_[block];
  assert(contains(block) && node.children == 0);
  const auto [begin, end] = exact_.equal_range(Hash(node.place, node.tokens));
  exact_.erase(std::find_if(begin, end, [block](const auto& entry) { return entry.second == block; }));
  const auto branches = branches_.find(Hash(node.place, std::span<const TokenId>(node.tokens).first(1)));
  std::erase(branches->second, block);
  if (branches->second.empty()) branches_.erase(branches);
  if (node.place.parent != kRoot) --nodes_[node.place.parent].children;
  node.tokens.clear();
}

}  // namespace inferflux::engine
