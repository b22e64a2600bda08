// Manages the KV of an engine's sequences as blocks: which sequence holds which block, what is shared, and what can be
// matched again. Logic only: the caller copies blocks on the device.
//
// The invariants (tests/unit/engine/kv_blocks/block_manager_random_test.cpp):
//  - a block is written only by its single holder, and only while it is not in the prefix index;
//  - a sequence that holds an indexed block holds all blocks before it, and a sequence releases its blocks from the
//  last
//    to the first: so the least recently used cached block never has children;
//  - a sequence of a model with recurrent layers holds the state after its last token, and can only be cut where the
//    state is known: at its beginning and at checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/token_id.h"
#include "engine/engine.h"
#include "engine/kv_blocks/block_pool.h"
#include "engine/kv_blocks/prefix_index.h"
#include "engine/kv_blocks/sequence_table.h"
#include "engine/kv_blocks/state_store.h"

namespace inferflux::engine {

struct BlockCopy {
  int32_t from = 0;
  int32_t to = 0;
};

// The recurrent states of one sequence in a step: which slot has the one before it, and where it stores the one after
// it and the one at the last end of a block before that.
struct StepState {
  int32_t from = Sequence::kNoState;
  int32_t to = Sequence::kNoState;
  int32_t mark = Sequence::kNoState;  // none, if no block ends before the step's last token or no slot is free
  int32_t marked_tokens = 0;          // of the step, up to the mark
};

class BlockManager {
 public:
  // `states`: slots for recurrent states; 0: the model has none.
  BlockManager(int32_t blocks, int32_t block_size, int32_t max_sequences, int32_t states = 0);

  // Engine documents these.
  Result<PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt);
  Result<SequenceId> Fork(SequenceId id);
  Status Truncate(SequenceId id, int32_t length);
  Status Close(SequenceId id);
  KvUsage usage() const;

  // Reserves room for `tokens` tokens in total and makes the new room writable. The caller must make a returned copy
  // before the next call.
  Result<std::optional<BlockCopy>> Reserve(SequenceId id, int32_t tokens);

  // An error if `count` tokens cannot be written at the sequence's end: no room was reserved, or it has become shared
  // since.
  Status CheckWritable(SequenceId id, int32_t count) const;

  // Records that the KV of these tokens has been written at the sequence's end, and their states where BeginStep said.
  Status Commit(SequenceId id, std::span<const TokenId> tokens, StepState state = {});

  // Takes the slots for the states of a step of `count` tokens, for models with recurrent layers. They are given back
  // by Commit or AbandonStep. kResourceExhausted if all slots are held.
  bool recurrent() const { return !states_.empty(); }
  Result<StepState> BeginStep(SequenceId id, int32_t count);
  void AbandonStep(const StepState& state);

  Result<const Sequence*> Find(SequenceId id) const { return sequences_.Find(id); }
  int32_t block_size() const { return block_size_; }
  const BlockPool& pool() const { return pool_; }
  const PrefixIndex& index() const { return index_; }
  const StateStore& states() const { return states_; }

 private:
  int32_t BlocksFor(int32_t tokens) const { return (tokens + block_size_ - 1) / block_size_; }
  bool Mutable(int32_t block) const { return pool_.references(block) == 1 && !index_.contains(block); }
  PrefixIndex::Place PlaceOf(const Sequence& sequence, int32_t block) const;
  std::span<const TokenId> TokensOf(const Sequence& sequence, int32_t block) const;
  int32_t TakeBlock();
  void Shrink(Sequence& sequence, int32_t blocks);
  void IndexFullBlocks(Sequence& sequence);
  void IndexTail(const Sequence& sequence);
  void RemoveFromIndex(int32_t block);
  void SetState(Sequence& sequence, int32_t slot);
  // The most blocks of `blocks` after which the state is known.
  size_t BlocksWithState(std::span<const int32_t> blocks) const;

  int32_t block_size_;
  BlockPool pool_;
  PrefixIndex index_;
  SequenceTable sequences_;
  StateStore states_;
};

}  // namespace inferflux::engine
