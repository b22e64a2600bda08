// A sequence's recurrent state behind its saved KV: its parts, then the number of tokens that it is the state after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/recurrent_state.h"
#include "engine/kv_blocks/sequence_table.h"

namespace inferflux::engine {

struct SavedState {
  std::span<const std::byte> bytes;
  int64_t tokens = 0;
};

// Appends nothing but the length 0 for a sequence without tokens.
template <compute::RecurrentStates B>
void AppendState(typename B::States& states, const Sequence& sequence, std::vector<std::byte>& saved) {
  const int64_t tokens = sequence.length();
  if (sequence.state != Sequence::kNoState) {
    B::VisitState(states, sequence.state,
                  [&](std::span<std::byte> part) { saved.insert(saved.end(), part.begin(), part.end()); });
  }
  const auto count = std::as_bytes(std::span(&tokens, 1));
  saved.insert(saved.end(), count.begin(), count.end());
}

// Removes the state from the end of `saved`. kDataLoss if it is too short for one.
inline Result<SavedState> SplitState(std::span<const std::byte>& saved, int64_t bytes) {
  SavedState out;
  const auto size = static_cast<size_t>(bytes);
  if (saved.size() < size + sizeof(out.tokens)) {
    return Fail(ErrorCode::kDataLoss, "{} bytes of saved KV do not hold a recurrent state of {}", saved.size(), bytes);
  }
  std::memcpy(&out.tokens, saved.data() + saved.size() - sizeof(out.tokens), sizeof(out.tokens));
  saved = saved.first(saved.size() - sizeof(out.tokens));
  out.bytes = saved.last(size);
  saved = saved.first(saved.size() - size);
  return out;
}

}  // namespace inferflux::engine
