#include "engine/native/step_states.h"

namespace inferflux::engine {

Result<StepStates> StepStates::Begin(BlockManager& store, const UnifiedBatch& batch, compute::StepGeometry& geometry) {
  StepStates out(store);
  if (!store.recurrent()) return out;
  for (size_t i = 0; i < batch.items.size(); ++i) {
    const BatchItem& item = batch.items[i];
    const auto state = store.BeginStep(item.sequence, static_cast<int32_t>(item.tokens.size()));
    if (!state) return Forward(state);
    out.states_.push_back(*state);
    geometry.states.push_back({.from = state->from, .to = state->to});
    if (state->mark == Sequence::kNoState) continue;
    geometry.state_marks.push_back({.row = geometry.query_starts[i] + state->marked_tokens - 1, .slot = state->mark});
  }
  return out;
}

}  // namespace inferflux::engine
