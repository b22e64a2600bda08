// The live sequences, by handle. A slot's generation grows with each reuse, so a stale handle is an error.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "engine/sequence.h"

namespace inferflux::engine {

struct Sequence {
  std::vector<TokenId> tokens;  // tokens whose KV is stored: the count is the next position
  std::vector<int32_t> blocks;  // block i holds positions [i * block_size, (i + 1) * block_size)
  int32_t indexed_blocks = 0;   // this many blocks, from the first on, are full and in the prefix index
  uint64_t salt = 0;
  int32_t state = kNoState;  // slot of the recurrent state after `tokens`

  static constexpr int32_t kNoState = -1;  // no tokens, or a model without recurrent layers

  int32_t length() const { return static_cast<int32_t>(tokens.size()); }
};

class SequenceTable {
 public:
  explicit SequenceTable(int32_t max_sequences);

  // kResourceExhausted if all slots are taken.
  Result<SequenceId> Open();
  Status Close(SequenceId id);

  // kInvalidArgument if the handle is not (or no longer) valid.
  Result<Sequence*> Find(SequenceId id);
  Result<const Sequence*> Find(SequenceId id) const;

  int32_t live() const { return static_cast<int32_t>(slots_.size() - free_.size()); }

 private:
  struct Slot {
    Sequence sequence;
    uint32_t generation = 0;
    bool live = false;
  };

  bool Names(SequenceId id) const;

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace inferflux::engine
