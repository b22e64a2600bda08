#include "engine/kv_blocks/sequence_table.h"

namespace inferflux::engine {

SequenceTable::SequenceTable(int32_t max_sequences) : slots_(static_cast<size_t>(max_sequences)) {
  for (auto slot = static_cast<uint32_t>(max_sequences); slot > 0; --slot) free_.push_back(slot - 1);
}

Result<SequenceId> SequenceTable::Open() {
  if (free_.empty()) {
    return Fail(ErrorCode::kResourceExhausted, "all {} sequences of this engine are in use", slots_.size());
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  if (++slot.generation == 0) slot.generation = 1;  // 0 is never a valid handle, not even after 2^32 uses
  slot.live = true;
  slot.sequence = {};
  return SequenceId{.slot = index, .generation = slot.generation};
}

Status SequenceTable::Close(SequenceId id) {
  if (auto found = Find(id); !found) return Forward(found);
  slots_[id.slot].live = false;
  slots_[id.slot].sequence = {};
  free_.push_back(id.slot);
  return {};
}

bool SequenceTable::Names(SequenceId id) const {
  return id.slot < slots_.size() && slots_[id.slot].live && slots_[id.slot].generation == id.generation;
}

Result<Sequence*> SequenceTable::Find(SequenceId id) {
  if (Names(id)) return &slots_[id.slot].sequence;
  return Fail(ErrorCode::kInvalidArgument, "no live sequence {}:{}: it was closed, or never opened", id.slot,
              id.generation);
}

Result<const Sequence*> SequenceTable::Find(SequenceId id) const {
  auto found = const_cast<SequenceTable*>(this)->Find(id);
  if (!found) return Forward(found);
  return static_cast<const Sequence*>(*found);
}

}  // namespace inferflux::engine
