// The recurrent states of a step, from the moment their slots are taken until each sequence is committed. What is not
// committed, because the step failed, is given back: the sequences still have the states from before it.
#pragma once

#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/params.h"
#include "engine/kv_blocks/block_manager.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

class StepStates {
 public:
  // Nothing if the store has no states. Otherwise fills `geometry`'s states and marks.
  static Result<StepStates> Begin(BlockManager& store, const UnifiedBatch& batch, compute::StepGeometry& geometry);

  StepStates(StepStates&& other) noexcept : store_(other.store_), states_(std::exchange(other.states_, {})) {}
  StepStates& operator=(StepStates&&) = delete;
  ~StepStates() {
    for (const StepState& state : states_) store_.AbandonStep(state);
  }

  // For Commit of item `i`, which gives the slots back.
  StepState Take(size_t i) { return states_.empty() ? StepState{} : std::exchange(states_[i], {}); }

 private:
  explicit StepStates(BlockManager& store) : store_(store) {}

  BlockManager& store_;
  std::vector<StepState> states_;
};

}  // namespace inferflux::engine
