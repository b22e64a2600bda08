// The outputs of a step that are hidden states.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// A batch's outputs by kind: their indices, ascending, in the order of items and outputs.
struct OutputRows {
  std::vector<int32_t> logits;
  std::vector<int32_t> hidden;
};
OutputRows SplitOutputs(const UnifiedBatch& batch);

// kUnsupported if an output other than hidden states is requested from a model that has nothing else: an
// encoder, or a classifier.
Status CheckHiddenOnly(const UnifiedBatch& batch);

// `hidden`: [kHidden outputs, width], in order. The result has an entry for every output.
void FillHidden(const UnifiedBatch& batch, std::span<const float> hidden, int32_t width, StepResult* result);

}  // namespace inferflux::engine
