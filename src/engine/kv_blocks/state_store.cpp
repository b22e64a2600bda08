#include "engine/kv_blocks/state_store.h"

#include <cassert>

namespace inferflux::engine {

StateStore::StateStore(int32_t slots) : references_(static_cast<size_t>(slots), 0) {
  for (int32_t slot = slots - 1; slot >= 0; --slot) free_.push_back(slot);
}

std::optional<int32_t> StateStore::Take() {
  if (free_.empty()) {
    for (const auto& [used, block] : by_use_) {
      if (references_[static_cast<size_t>(checkpoints_.at(block).slot)] > 1) continue;  // a sequence holds it too
      Drop(block);
      break;
    }
  }
  if (free_.empty()) return std::nullopt;
  const int32_t slot = free_.back();
  free_.pop_back();
  references_[static_cast<size_t>(slot)] = 1;
  return slot;
}

void StateStore::Release(int32_t slot) {
  int32_t& references = references_[static_cast<size_t>(slot)];
  assert(references > 0);
  if (--references == 0) free_.push_back(slot);
}

void StateStore::Keep(int32_t block, int32_t slot) {
  if (Has(block)) return;
  Share(slot);
  checkpoints_[block] = {slot, next_use_};
  by_use_[next_use_++] = block;
}

std::optional<int32_t> StateStore::Find(int32_t block) {
  const auto found = checkpoints_.find(block);
  if (found == checkpoints_.end()) return std::nullopt;
  by_use_.erase(found->second.used);
  found->second.used = next_use_;
  by_use_[next_use_++] = block;
  return found->second.slot;
}

void StateStore::Drop(int32_t block) {
  const auto found = checkpoints_.find(block);
  if (found == checkpoints_.end()) return;
  by_use_.erase(found->second.used);
  Release(found->second.slot);
  checkpoints_.erase(found);
}

}  // namespace inferflux::engine
