#include "engine/kv_blocks/block_pool.h"

#include <cassert>

namespace inferflux::engine {

BlockPool::BlockPool(int32_t blocks) : entries_(static_cast<size_t>(blocks) + 1) {
  entries_[blocks].older = entries_[blocks].newer = blocks;
  free_.reserve(static_cast<size_t>(blocks));
  for (int32_t block = blocks - 1; block >= 0; --block) free_.push_back(block);  // low numbers first: dense in memory
}

std::optional<BlockPool::Taken> BlockPool::Take() {
  Taken taken;
  if (!free_.empty()) {
    taken.block = free_.back();
    free_.pop_back();
  } else if (cached_ > 0) {
    taken = {.block = entries_[total()].newer, .evicted = true};
    Unlink(taken.block);
  } else {
    return std::nullopt;
  }
  entries_[taken.block].state = State::kHeld;
  entries_[taken.block].references = 1;
  return taken;
}

void BlockPool::Share(int32_t block) {
  assert(entries_[block].state != State::kFree);
  if (entries_[block].state == State::kCached) Unlink(block);
  entries_[block].state = State::kHeld;
  ++entries_[block].references;
}

void BlockPool::Release(int32_t block, bool keep_cached) {
  Entry& entry = entries_[block];
  assert(entry.state == State::kHeld && entry.references > 0);
  if (--entry.references > 0) return;
  if (!keep_cached) {
    entry.state = State::kFree;
    free_.push_back(block);
    return;
  }
  const int32_t sentinel = total();
  entry.state = State::kCached;
  entry.older = entries_[sentinel].older;
  entry.newer = sentinel;
  entries_[entry.older].newer = block;
  entries_[sentinel].older = block;
  ++cached_;
}

void BlockPool::Unlink(int32_t block) {
  Entry& entry = entries_[block];
  entries_[entry.older].newer = entry.newer;
  entries_[entry.newer].older = entry.older;
  --cached_;
}

}  // namespace inferflux::engine
