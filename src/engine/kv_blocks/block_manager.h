// Manages the KV of an engine's sequences as blocks: which sequence holds which block, what is shared, and what can be
// matched again. Logic only: the caller copies blocks on the device.
//
// The invariants (tests/unit/engine/kv_blocks/block_manager_random_test.cpp):
//  - a block is written only by its single holder, and only while it is not in the prefix index;
//  - a sequence that holds an indexed block holds all blocks before it, and a sequence releases its blocks from the
//  last
//    to the first: so the least recently used cached block never has children.
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

namespace inferflux::engine {

struct BlockCopy {
  int32_t from = 0;
  int32_t to = 0;
};

class BlockManager {
 public:
  BlockManager(int32_t blocks, int32_t block_size, int32_t max_sequences);

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

  // Records that the KV of these tokens has been written at the sequence's end.
  Status Commit(SequenceId id, std::span<const TokenId> tokens);

  Result<const Sequence*> Find(SequenceId id) const { return sequences_.Find(id); }
  int32_t block_size() const { return block_size_; }
  const BlockPool& pool() const { return pool_; }
  const PrefixIndex& index() const { return index_; }

 private:
  int32_t BlocksFor(int32_t tokens) const { return (tokens + block_size_ - 1) / block_size_; }
  bool Mutable(int32_t block) const { return pool_.references(block) == 1 && !index_.contains(block); }
  PrefixIndex::Place PlaceOf(const Sequence& sequence, int32_t block) const;
  std::span<const TokenId> TokensOf(const Sequence& sequence, int32_t block) const;
  int32_t TakeBlock();
  void Shrink(Sequence& sequence, int32_t blocks);
  void IndexFullBlocks(Sequence& sequence);
  void IndexTail(const Sequence& sequence);

  int32_t block_size_;
  BlockPool pool_;
  PrefixIndex index_;
  SequenceTable sequences_;
};

}  // namespace inferflux::engine
