// Log probabilities of the model's own distribution: the softmax of its logits, before any change to them.
#pragma once

#include <cstdint>
#include <span>

#include "engine/unified_batch.h"

namespace inferflux::engine {

// Fills `chosen` for result.token, and `top` with the `count` likeliest. `scratch` must be as long as `logits`.
void FillLogprobs(std::span<const float> logits, int32_t count, std::span<float> scratch, OutputResult& result);

}  // namespace inferflux::engine
