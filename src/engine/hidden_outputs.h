// The outputs of a step that are hidden states.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// A batch's outputs by what they are made from: their numbers in the order of items and outputs, ascending.
struct OutputRows {
  std::vector<int32_t> logits;
  std::vector<int32_t> hidden;
};
OutputRows SplitOutputs(const UnifiedBatch& batch);

// kUnsupported where something else than hidden states is asked of an encoder.
Status CheckHiddenOnly(const UnifiedBatch& batch);

// `hidden`: [kHidden outputs, width], in their order. The result has a place for every output.
void FillHidden(const UnifiedBatch& batch, std::span<const float> hidden, int32_t width, StepResult* result);

}  // namespace inferflux::engine
