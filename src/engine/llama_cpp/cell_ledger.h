// Tracks llama.cpp's unified cache: which sequence id belongs to which sequence, and which cells they hold. A cell
// holds one token's keys and values for any number of sequences. Logic only: it reaches the library's cache through
// SequenceMemory.
//
// A closed sequence keeps its id and its cells, so that a later one can reuse them, until either is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "engine/engine.h"

namespace inferflux::engine {

// What the ledger needs from the library.
class SequenceMemory {
 public:
  virtual ~SequenceMemory() = default;
  // Removes the tokens of `id` from position `from` on. False if the model's memory cannot be cut there (a recurrent
  // state); cutting at 0 always works.
  virtual bool Cut(int32_t id, int32_t from) = 0;
  // The empty `to` shares the cells of the first `length` tokens of `from`.
  virtual void Copy(int32_t from, int32_t to, int32_t length) = 0;
};

struct LedgerLimits {
  int64_t cells = 0;
  int32_t ids = 0;             // sequences that the library can distinguish
  int32_t max_sequences = 0;   // maximum number of live ones; the other ids only keep prefixes
  bool partial_copies = true;  // false: only whole prefixes can be copied (no state exists for shorter ones)
};

class CellLedger {
 public:
  CellLedger(const LedgerLimits& limits, SequenceMemory& memory);

  // Engine documents these.
  Result<PrefixMatch> Open(std::span<const TokenId> tokens, uint64_t salt);
  Result<SequenceId> Fork(SequenceId id);
  Status Reserve(SequenceId id, int32_t tokens);
  Status Truncate(SequenceId id, int32_t length);  // kUnsupported if the memory refuses; nothing has changed then
  Status Close(SequenceId id);
  KvUsage usage() const;

  Result<std::span<const TokenId>> Tokens(SequenceId id) const;
  // Returns the sequence's length if `count` more tokens fit; otherwise an error.
  Result<int32_t> WritableLength(SequenceId id, int32_t count) const;

  // Records that the library has computed these tokens at the sequence's end.
  void Commit(SequenceId id, std::span<const TokenId> tokens);
  // Removes tokens that the library may have computed after the sequence's end. If that is not possible, it empties the
  // sequence.
  void Retract(SequenceId id);

 private:
  enum class State { kFree, kLive, kCached };
  struct Entry {
    State state = State::kFree;
    uint32_t generation = 0;
    uint64_t salt = 0;
    uint64_t last_used = 0;
    std::vector<TokenId> tokens;
    std::vector<int32_t> cells;  // one per token, followed by the reserved ones
    int32_t length() const { return static_cast<int32_t>(tokens.size()); }
  };
  struct Cell {
    int32_t holders = 0;
    int32_t live_holders = 0;
  };
  struct Prefix {
    int32_t id = 0;
    int32_t length = 0;
  };

  Result<const Entry*> Find(SequenceId id) const;
  Result<Entry*> Find(SequenceId id);
  Status CheckRoomForOne() const;
  std::optional<Prefix> LongestPrefix(std::span<const TokenId> tokens, uint64_t salt) const;
  bool MayTakeOver(const Prefix& prefix) const;
  bool KnownElsewhere(const Entry& entry) const;
  std::optional<int32_t> LeastRecentlyUsed(std::optional<int32_t> except) const;
  int32_t TakeId(std::optional<int32_t> keep);
  SequenceId MakeLive(int32_t id, uint64_t salt);
  void CopyTokens(int32_t from, int32_t to, int32_t length);
  bool CutTokens(int32_t id, int32_t length);
  void Evict(int32_t id);
  void ReleaseCells(Entry& entry, size_t keep);
  void AddLiveHolder(int32_t cell);
  void RemoveLiveHolder(int32_t cell);

  LedgerLimits limits_;
  SequenceMemory& memory_;
  std::vector<Entry> entries_;  // [sequence id of the library]
  std::vector<Cell> cells_;
  std::vector<int32_t> free_cells_;
  int32_t live_ = 0;
  int64_t live_cells_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace inferflux::engine
