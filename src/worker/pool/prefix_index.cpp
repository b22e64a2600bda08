#include "worker/pool/prefix_index.h"

#include <algorithm>

#include "base/mix64.h"

namespace inferflux::worker {
namespace {

uint64_t HashOfBlock(uint64_t parent, std::span<const TokenId> block) {
  uint64_t out = Mix64(parent + 0x9e3779b97f4a7c15ULL);
  for (const TokenId id : block) out = Mix64(out ^ static_cast<uint64_t>(static_cast<uint32_t>(id)));
  return out;
}

}  // namespace

void PrefixIndex::Insert(std::span<const TokenId> tokens, uint64_t salt, int worker) {
  uint64_t hash = Mix64(salt);
  for (size_t at = 0; at + kBlock <= tokens.size(); at += kBlock) {
    hash = HashOfBlock(hash, tokens.subspan(at, kBlock));
    auto [found, fresh] = nodes_.try_emplace(hash);
    Node& node = found->second;
    if (fresh) {
      node.place = used_.insert(used_.end(), hash);
    } else {
      used_.splice(used_.end(), used_, node.place);
    }
    if (std::ranges::find(node.workers, worker) == node.workers.end()) node.workers.push_back(worker);
  }
  while (nodes_.size() > most_blocks_) {
    nodes_.erase(used_.front());
    used_.pop_front();
  }
}

std::map<int, int32_t> PrefixIndex::Match(std::span<const TokenId> tokens, uint64_t salt) {
  std::map<int, int32_t> out;
  uint64_t hash = Mix64(salt);
  for (size_t at = 0; at + kBlock <= tokens.size(); at += kBlock) {
    hash = HashOfBlock(hash, tokens.subspan(at, kBlock));
    const auto found = nodes_.find(hash);
    if (found == nodes_.end()) break;
    for (const int worker : found->second.workers) {
      int32_t& matched = out[worker];
      // Only an unbroken run from the beginning counts.
      if (matched == static_cast<int32_t>(at)) matched = static_cast<int32_t>(at + kBlock);
    }
  }
  std::erase_if(out, [](const auto& entry) { return entry.second == 0; });
  return out;
}

void PrefixIndex::Forget(int worker) {
  for (auto& [hash, node] : nodes_) std::erase(node.workers, worker);
}

}  // namespace inferflux::worker
