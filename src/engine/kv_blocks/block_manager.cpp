#include "engine/kv_blocks/block_manager.h"

#include <algorithm>
#include <cassert>

namespace inferflux::engine {

BlockManager::BlockManager(int32_t blocks, int32_t block_size, int32_t max_sequences, int32_t states)
    : block_size_(block_size), pool_(blocks), index_(blocks, block_size), sequences_(max_sequences), states_(states) {}

Result<PrefixMatch> BlockManager::Open(std::span<const TokenId> tokens, uint64_t salt) {
  auto id = sequences_.Open();
  if (!id) return Forward(id);
  Sequence& sequence = **sequences_.Find(*id);
  sequence.salt = salt;
  if (tokens.empty()) return PrefixMatch{.sequence = *id};

  PrefixIndex::Match match = index_.Find(tokens.first(tokens.size() - 1), salt);
  if (recurrent()) {  // only as far as the state is known
    match.blocks.resize(BlocksWithState(std::span(match.blocks).first(match.tokens / block_size_)));
    match.tokens = static_cast<int32_t>(match.blocks.size()) * block_size_;
    if (!match.blocks.empty()) SetState(sequence, *states_.Find(match.blocks.back()));
  }
  for (const int32_t block : match.blocks) pool_.Share(block);
  sequence.tokens.assign(tokens.begin(), tokens.begin() + match.tokens);
  sequence.blocks = std::move(match.blocks);
  sequence.indexed_blocks = match.tokens / block_size_;
  return PrefixMatch{.sequence = *id, .cached_tokens = match.tokens};
}

Result<SequenceId> BlockManager::Fork(SequenceId id) {
  if (auto found = sequences_.Find(id); !found) return Forward(found);
  auto copy = sequences_.Open();
  if (!copy) return copy;
  const Sequence& source = **sequences_.Find(id);
  Sequence& sequence = **sequences_.Find(*copy);
  sequence = source;
  sequence.blocks.resize(static_cast<size_t>(BlocksFor(source.length())));  // reserved room stays with the source
  for (const int32_t block : sequence.blocks) pool_.Share(block);
  if (sequence.state != Sequence::kNoState) states_.Share(sequence.state);
  return copy;
}

Result<std::optional<BlockCopy>> BlockManager::Reserve(SequenceId id, int32_t tokens) {
  auto found = sequences_.Find(id);
  if (!found) return Forward(found);
  Sequence& sequence = **found;
  const auto held = static_cast<int32_t>(sequence.blocks.size());
  const int32_t tail = sequence.length() / block_size_;  // the block of the next position
  const int32_t more = std::max(0, BlocksFor(tokens) - held);
  const bool frozen = tokens > sequence.length() && tail < held && !Mutable(sequence.blocks[tail]);
  // If no block is left for a copy, a tail with one holder is removed from the index instead: it can no longer be
  // matched.
  const bool thaw = frozen && more == pool_.available() && pool_.references(sequence.blocks[tail]) == 1;
  const int32_t needed = more + (frozen && !thaw ? 1 : 0);
  if (needed > pool_.available()) {
    return Fail(ErrorCode::kResourceExhausted, "the KV store lacks {} of {} blocks of {} tokens",
                needed - pool_.available(), pool_.total(), block_size_);
  }
  for (int32_t i = 0; i < more; ++i) sequence.blocks.push_back(TakeBlock());
  if (thaw) RemoveFromIndex(sequence.blocks[tail]);  // only now: the eviction above has removed its cached children
  if (!frozen || thaw) return std::optional<BlockCopy>();
  const BlockCopy copy{.from = sequence.blocks[tail], .to = TakeBlock()};
  pool_.Release(copy.from, index_.contains(copy.from));
  sequence.blocks[tail] = copy.to;
  return std::optional(copy);
}

Status BlockManager::CheckWritable(SequenceId id, int32_t count) const {
  auto found = sequences_.Find(id);
  if (!found) return Forward(found);
  const Sequence& sequence = **found;
  const auto room = static_cast<int64_t>(sequence.blocks.size()) * block_size_ - sequence.length();
  if (count > room) {
    return Fail(ErrorCode::kInvalidArgument, "{} tokens for a sequence with room for {}: reserve first", count, room);
  }
  const int32_t tail = sequence.length() / block_size_;
  if (count > 0 && !Mutable(sequence.blocks[tail])) {
    return Fail(ErrorCode::kInvalidArgument, "the sequence's last block is shared: reserve first");
  }
  return {};
}

Status BlockManager::Commit(SequenceId id, std::span<const TokenId> tokens, StepState state) {
  if (auto writable = CheckWritable(id, static_cast<int32_t>(tokens.size())); !writable) return writable;
  Sequence& sequence = **sequences_.Find(id);
  const int32_t before = sequence.length();
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  IndexFullBlocks(sequence);
  if (state.to == Sequence::kNoState) return {};
  SetState(sequence, state.to);
  const auto keep = [&](int32_t length, int32_t slot) {
    if (length % block_size_ == 0) states_.Keep(sequence.blocks[static_cast<size_t>(length / block_size_ - 1)], slot);
  };
  if (state.mark != Sequence::kNoState) keep(before + state.marked_tokens, state.mark);
  keep(sequence.length(), state.to);
  AbandonStep(state);  // the step's own references; the sequence and the checkpoints have theirs
  return {};
}

Result<StepState> BlockManager::BeginStep(SequenceId id, int32_t count) {
  auto found = sequences_.Find(id);
  if (!found) return Forward(found);
  const Sequence& sequence = **found;
  const auto to = states_.Take();
  if (!to) return Fail(ErrorCode::kResourceExhausted, "all slots for recurrent states are held by sequences");
  StepState out{.from = sequence.state, .to = *to};
  const int32_t last_end = (sequence.length() + count - 1) / block_size_ * block_size_;
  if (last_end <= sequence.length()) return out;
  if (const auto mark = states_.Take()) {
    out.mark = *mark;
    out.marked_tokens = last_end - sequence.length();
  }
  return out;
}

void BlockManager::AbandonStep(const StepState& state) {
  for (const int32_t slot : {state.to, state.mark}) {
    if (slot != Sequence::kNoState) states_.Release(slot);
  }
}

Status BlockManager::Truncate(SequenceId id, int32_t length) {
  auto found = sequences_.Find(id);
  if (!found) return Forward(found);
  Sequence& sequence = **found;
  if (length < 0 || length > sequence.length()) {
    return Fail(ErrorCode::kInvalidArgument, "cannot cut a sequence of {} tokens to {}", sequence.length(), length);
  }
  if (recurrent() && length != sequence.length()) {
    const auto whole = std::span(sequence.blocks).first(static_cast<size_t>(length / block_size_));
    const size_t known = BlocksWithState(whole);
    if (static_cast<int32_t>(known) * block_size_ != length) {
      return Fail(ErrorCode::kUnsupported,
                  "the recurrent state after {} tokens is not stored; the nearest one before it is after {}: compute "
                  "the tokens again from there",
                  length, static_cast<int32_t>(known) * block_size_);
    }
    SetState(sequence, length == 0 ? Sequence::kNoState : *states_.Find(whole.back()));
  }
  sequence.tokens.resize(static_cast<size_t>(length));
  Shrink(sequence, BlocksFor(length));
  sequence.indexed_blocks = std::min(sequence.indexed_blocks, length / block_size_);
  return {};
}

Status BlockManager::Close(SequenceId id) {
  auto found = sequences_.Find(id);
  if (!found) return Forward(found);
  if (!recurrent()) IndexTail(**found);
  Shrink(**found, 0);
  SetState(**found, Sequence::kNoState);
  return sequences_.Close(id);
}

KvUsage BlockManager::usage() const {
  return {.blocks_used = pool_.held(), .blocks_cached = pool_.cached(), .blocks_free = pool_.free()};
}

PrefixIndex::Place BlockManager::PlaceOf(const Sequence& sequence, int32_t block) const {
  return {.parent = block == 0 ? PrefixIndex::kRoot : sequence.blocks[block - 1], .salt = sequence.salt};
}

std::span<const TokenId> BlockManager::TokensOf(const Sequence& sequence, int32_t block) const {
  const int32_t first = block * block_size_;
  return std::span(sequence.tokens)
      .subspan(static_cast<size_t>(first), static_cast<size_t>(std::min(block_size_, sequence.length() - first)));
}

int32_t BlockManager::TakeBlock() {
  const auto taken = pool_.Take();
  assert(taken);
  if (taken->evicted) RemoveFromIndex(taken->block);
  return taken->block;
}

void BlockManager::RemoveFromIndex(int32_t block) {
  index_.Remove(block);
  states_.Drop(block);
}

void BlockManager::SetState(Sequence& sequence, int32_t slot) {
  if (slot != Sequence::kNoState) states_.Share(slot);
  if (sequence.state != Sequence::kNoState) states_.Release(sequence.state);
  sequence.state = slot;
}

size_t BlockManager::BlocksWithState(std::span<const int32_t> blocks) const {
  size_t count = blocks.size();
  while (count > 0 && !states_.Has(blocks[count - 1])) --count;
  return count;
}

void BlockManager::Shrink(Sequence& sequence, int32_t blocks) {
  while (static_cast<int32_t>(sequence.blocks.size()) > blocks) {
    pool_.Release(sequence.blocks.back(), index_.contains(sequence.blocks.back()));
    sequence.blocks.pop_back();
  }
}

// If two sequences compute the same tokens at the same time, both fill a block: the second switches to the first's.
void BlockManager::IndexFullBlocks(Sequence& sequence) {
  for (int32_t i = sequence.indexed_blocks; i < sequence.length() / block_size_; ++i) {
    const auto place = PlaceOf(sequence, i);
    const auto tokens = TokensOf(sequence, i);
    if (const auto twin = index_.FindBlock(place, tokens)) {
      pool_.Share(*twin);
      pool_.Release(sequence.blocks[i], false);
      sequence.blocks[i] = *twin;
    } else {
      index_.Insert(place, sequence.blocks[i], tokens);
    }
    sequence.indexed_blocks = i + 1;
  }
}

void BlockManager::IndexTail(const Sequence& sequence) {
  const int32_t tail = sequence.indexed_blocks;
  const auto tokens = TokensOf(sequence, tail);
  if (tokens.empty() || !Mutable(sequence.blocks[tail])) return;
  const auto place = PlaceOf(sequence, tail);
  if (index_.FindPart(place, tokens).tokens == static_cast<int32_t>(tokens.size())) return;
  index_.Insert(place, sequence.blocks[tail], tokens);
}

}  // namespace inferflux::engine
