// A checked batch, laid out as the rows of one forward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "compute/params.h"
#include "engine/kv_blocks/block_manager.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

struct StepPlan {
  compute::StepGeometry geometry;
  std::vector<int32_t> output_rows;  // in the order of items and outputs
  std::vector<int32_t> token_types;  // [rows]: 1 in the second text of a pair; empty: all 0
};

// Checks everything that the compute backend does not: ids, positions, room, outputs. Errors name the item.
Result<StepPlan> PlanStep(const BlockManager& store, const UnifiedBatch& batch, int32_t vocab_size, int32_t context);

}  // namespace inferflux::engine
