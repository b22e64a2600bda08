// The recurrent states of an engine's sequences, as numbered slots. A state is written once and then only read, so
// sequences and checkpoints share slots by reference count. A checkpoint is the state at the end of a block of the
// prefix index. Checkpoints give way, the least recently used first, when a step needs a slot.
//
// Slots only: the compute backend stores the states.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace inferflux::engine {

class StateStore {
 public:
  explicit StateStore(int32_t slots);

  bool empty() const { return references_.empty(); }  // the model has no recurrent layers

  // Returns a slot with one reference; nothing if all slots are held by sequences.
  std::optional<int32_t> Take();
  void Share(int32_t slot) { ++references_[static_cast<size_t>(slot)]; }
  void Release(int32_t slot);

  // Makes the slot the checkpoint of a block, which must be indexed. A block that has one keeps it.
  void Keep(int32_t block, int32_t slot);
  // The block's checkpoint, which becomes the most recently used one.
  std::optional<int32_t> Find(int32_t block);
  bool Has(int32_t block) const { return checkpoints_.contains(block); }
  // The block leaves the index, and its checkpoint with it.
  void Drop(int32_t block);

  int32_t free() const { return static_cast<int32_t>(free_.size()); }
  int32_t checkpoints() const { return static_cast<int32_t>(checkpoints_.size()); }
  int32_t references(int32_t slot) const { return references_[static_cast<size_t>(slot)]; }

 private:
  struct Checkpoint {
    int32_t slot = 0;
    uint64_t used = 0;
  };

  std::vector<int32_t> references_;  // [slot]
  std::vector<int32_t> free_;
  std::unordered_map<int32_t, Checkpoint> checkpoints_;  // by block
  std::map<uint64_t, int32_t> by_use_;                   // blocks with a checkpoint, the least recently used first
  uint64_t next_use_ = 0;
};

}  // namespace inferflux::engine
