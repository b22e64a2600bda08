#include "engine/llama_cpp/cell_ledger.h"

#include <algorithm>

namespace inferflux::engine {

CellLedger::CellLedger(const LedgerLimits& limits, SequenceMemory& memory)
    : limits_(limits),
      memory_(memory),
      entries_(static_cast<size_t>(limits.ids)),
      cells_(static_cast<size_t>(limits.cells)) {
  for (auto cell = static_cast<int32_t>(limits.cells); cell > 0; --cell) free_cells_.push_back(cell - 1);
}

Result<PrefixMatch> CellLedger::Open(std::span<const TokenId> tokens, uint64_t salt) {
  if (auto room = CheckRoomForOne(); !room) return Forward(room);
  auto prefix = tokens.empty() ? std::nullopt : LongestPrefix(tokens.first(tokens.size() - 1), salt);
  if (prefix && MayTakeOver(*prefix)) {
    Entry& entry = entries_[prefix->id];
    if (prefix->length < entry.length() && !CutTokens(prefix->id, prefix->length)) {
      CutTokens(prefix->id, 0);
      prefix->length = 0;
    }
    for (const int32_t cell : entry.cells) AddLiveHolder(cell);
    return PrefixMatch{.sequence = MakeLive(prefix->id, salt), .cached_tokens = prefix->length};
  }
  const int32_t id = TakeId(prefix ? std::optional(prefix->id) : std::nullopt);
  const SequenceId sequence = MakeLive(id, salt);
  if (!prefix) return PrefixMatch{.sequence = sequence};
  CopyTokens(prefix->id, id, prefix->length);
  return PrefixMatch{.sequence = sequence, .cached_tokens = prefix->length};
}

Result<SequenceId> CellLedger::Fork(SequenceId id) {
  if (auto found = Find(id); !found) return Forward(found);
  if (auto room = CheckRoomForOne(); !room) return Forward(room);
  const auto from = static_cast<int32_t>(id.slot);
  const int32_t to = TakeId(std::nullopt);
  const SequenceId copy = MakeLive(to, entries_[from].salt);
  CopyTokens(from, to, entries_[from].length());
  return copy;
}

Status CellLedger::Reserve(SequenceId id, int32_t tokens) {
  auto found = Find(id);
  if (!found) return Forward(found);
  Entry& entry = **found;
  const int64_t more = tokens - static_cast<int64_t>(entry.cells.size());
  if (more <= 0) return {};
  const int64_t available = limits_.cells - live_cells_;  // free, or held only by closed sequences
  if (more > available) {
    return Fail(ErrorCode::kResourceExhausted, "the KV store lacks {} of {} tokens", more - available, limits_.cells);
  }
  while (more > static_cast<int64_t>(free_cells_.size())) Evict(*LeastRecentlyUsed(std::nullopt));
  for (int64_t i = 0; i < more; ++i) {
    const int32_t cell = free_cells_.back();
    free_cells_.pop_back();
    cells_[cell].holders = 1;
    AddLiveHolder(cell);
    entry.cells.push_back(cell);
  }
  return {};
}

Status CellLedger::Truncate(SequenceId id, int32_t length) {
  auto found = Find(id);
  if (!found) return Forward(found);
  const int32_t held = (*found)->length();
  if (length < 0 || length > held) {
    return Fail(ErrorCode::kInvalidArgument, "cannot cut a sequence of {} tokens to {}", held, length);
  }
  if (CutTokens(static_cast<int32_t>(id.slot), length)) return {};
  return Fail(ErrorCode::kUnsupported, "this model's memory cannot be cut from {} tokens to {}: compute them again",
              held, length);
}

Status CellLedger::Close(SequenceId id) {
  auto found = Find(id);
  if (!found) return Forward(found);
  Entry& entry = **found;
  ReleaseCells(entry, entry.tokens.size());
  for (const int32_t cell : entry.cells) RemoveLiveHolder(cell);
  --live_;
  entry.state = State::kCached;
  entry.last_used = ++clock_;
  if (entry.tokens.empty() || KnownElsewhere(entry)) Evict(static_cast<int32_t>(id.slot));
  return {};
}

KvUsage CellLedger::usage() const {
  const auto free = static_cast<int64_t>(free_cells_.size());
  return {.blocks_used = live_cells_, .blocks_cached = limits_.cells - live_cells_ - free, .blocks_free = free};
}

Result<std::span<const TokenId>> CellLedger::Tokens(SequenceId id) const {
  auto found = Find(id);
  if (!found) return Forward(found);
  return std::span<const TokenId>((*found)->tokens);
}

Result<int32_t> CellLedger::WritableLength(SequenceId id, int32_t count) const {
  auto found = Find(id);
  if (!found) return Forward(found);
  const Entry& entry = **found;
  const auto room = static_cast<int32_t>(entry.cells.size()) - entry.length();
  if (count > room) {
    return Fail(ErrorCode::kInvalidArgument, "{} tokens for a sequence with room for {}: reserve first", count, room);
  }
  return entry.length();
}

void CellLedger::Commit(SequenceId id, std::span<const TokenId> tokens) {
  Entry& entry = entries_[id.slot];
  entry.tokens.insert(entry.tokens.end(), tokens.begin(), tokens.end());
}

void CellLedger::Retract(SequenceId id) {
  Entry& entry = entries_[id.slot];
  if (memory_.Cut(static_cast<int32_t>(id.slot), entry.length())) return;
  memory_.Cut(static_cast<int32_t>(id.slot), 0);
  entry.tokens.clear();
}

Result<const CellLedger::Entry*> CellLedger::Find(SequenceId id) const {
  if (id.slot < entries_.size()) {
    const Entry& entry = entries_[id.slot];
    if (entry.state == State::kLive && entry.generation == id.generation) return &entry;
  }
  return Fail(ErrorCode::kInvalidArgument, "no live sequence {}:{}: it was closed, or never opened", id.slot,
              id.generation);
}

Result<CellLedger::Entry*> CellLedger::Find(SequenceId id) {
  return std::as_const(*this).Find(id).map([](const Entry* entry) { return const_cast<Entry*>(entry); });
}

Status CellLedger::CheckRoomForOne() const {
  if (live_ < limits_.max_sequences) return {};
  return Fail(ErrorCode::kResourceExhausted, "all {} sequences of this engine are in use", limits_.max_sequences);
}

std::optional<CellLedger::Prefix> CellLedger::LongestPrefix(std::span<const TokenId> tokens, uint64_t salt) const {
  Prefix best;
  for (size_t id = 0; id < entries_.size(); ++id) {
    const Entry& entry = entries_[id];
    if (entry.state == State::kFree || entry.salt != salt) continue;
    const auto length = static_cast<int32_t>(std::ranges::mismatch(entry.tokens, tokens).in1 - entry.tokens.begin());
    if (!limits_.partial_copies && length < entry.length()) continue;
    // Among equals, prefer a closed sequence without further tokens: the new one can take it over.
    const bool whole = entry.state == State::kCached && length == entry.length();
    if (length > best.length || (length == best.length && length > 0 && whole)) {
      best = {.id = static_cast<int32_t>(id), .length = length};
    }
  }
  return best.length > 0 ? std::optional(best) : std::nullopt;
}

// Whether the new sequence can take over the one with the prefix: that one is closed, and either nothing of it is lost
// or no id is left for a copy.
bool CellLedger::MayTakeOver(const Prefix& prefix) const {
  const Entry& entry = entries_[prefix.id];
  if (entry.state != State::kCached) return false;
  const bool another = std::ranges::any_of(entries_, [&](const Entry& e) { return e.state == State::kFree; }) ||
                       LeastRecentlyUsed(prefix.id).has_value();
  return prefix.length == entry.length() || !another;
}

bool CellLedger::KnownElsewhere(const Entry& entry) const {
  return std::ranges::any_of(entries_, [&](const Entry& other) {
    return &other != &entry && other.state != State::kFree && other.salt == entry.salt &&
           (limits_.partial_copies || other.length() == entry.length()) && other.length() >= entry.length() &&
           std::ranges::equal(entry.tokens, std::span(other.tokens).first(entry.tokens.size()));
  });
}

std::optional<int32_t> CellLedger::LeastRecentlyUsed(std::optional<int32_t> except) const {
  std::optional<int32_t> oldest;
  for (int32_t id = 0; id < limits_.ids; ++id) {
    if (entries_[id].state != State::kCached || id == except) continue;
    if (!oldest || entries_[id].last_used < entries_[*oldest].last_used) oldest = id;
  }
  return oldest;
}

// An id exists: fewer than max_sequences are live, and at most one must be kept.
int32_t CellLedger::TakeId(std::optional<int32_t> keep) {
  const auto free = std::ranges::find(entries_, State::kFree, &Entry::state);
  if (free != entries_.end()) return static_cast<int32_t>(free - entries_.begin());
  const int32_t oldest = *LeastRecentlyUsed(keep);
  Evict(oldest);
  return oldest;
}

SequenceId CellLedger::MakeLive(int32_t id, uint64_t salt) {
  Entry& entry = entries_[id];
  entry.state = State::kLive;
  entry.salt = salt;
  if (++entry.generation == 0) entry.generation = 1;  // 0 is never a valid handle
  ++live_;
  return {.slot = static_cast<uint32_t>(id), .generation = entry.generation};
}

void CellLedger::CopyTokens(int32_t from, int32_t to, int32_t length) {
  const Entry& source = entries_[from];
  Entry& copy = entries_[to];
  memory_.Copy(from, to, length);
  copy.tokens.assign(source.tokens.begin(), source.tokens.begin() + length);
  copy.cells.assign(source.cells.begin(), source.cells.begin() + length);
  for (const int32_t cell : copy.cells) {
    ++cells_[cell].holders;
    AddLiveHolder(cell);
  }
}

bool CellLedger::CutTokens(int32_t id, int32_t length) {
  Entry& entry = entries_[id];
  if (length < entry.length() && !memory_.Cut(id, length)) return false;
  entry.tokens.resize(static_cast<size_t>(length));
  ReleaseCells(entry, entry.tokens.size());
  return true;
}

void CellLedger::Evict(int32_t id) {
  memory_.Cut(id, 0);
  Entry& entry = entries_[id];
  ReleaseCells(entry, 0);
  entry.tokens.clear();
  entry.state = State::kFree;
}

void CellLedger::ReleaseCells(Entry& entry, size_t keep) {
  while (entry.cells.size() > keep) {
    const int32_t cell = entry.cells.back();
    entry.cells.pop_back();
    if (entry.state == State::kLive) RemoveLiveHolder(cell);
    if (--cells_[cell].holders == 0) free_cells_.push_back(cell);
  }
}

void CellLedger::AddLiveHolder(int32_t cell) {
  if (cells_[cell].live_holders++ == 0) ++live_cells_;
}

void CellLedger::RemoveLiveHolder(int32_t cell) {
  if (--cells_[cell].live_holders == 0) --live_cells_;
}

}  // namespace inferflux::engine
