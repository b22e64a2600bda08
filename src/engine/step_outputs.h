// From a step's logits to what was asked of it.
#pragma once

#include <optional>
#include <span>

#include "base/function_ref.h"
#include "compute/sampling.h"
#include "engine/sampling/sampler.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// The tokens of a sequence, those of the step included.
using SequenceTokens = FunctionRef<std::span<const TokenId>(SequenceId)>;

// `logits`: [outputs that need logits and were not sampled, vocab], in the order of items and outputs; used up. Hidden
// outputs get an empty place. `sampled`: what a device chose, by output that needs logits; empty where it chose
// nothing. The batch is committed already.
StepResult MakeOutputs(SequenceTokens tokens_of, const UnifiedBatch& batch, std::span<float> logits, int32_t vocab_size,
                       Sampler& sampler, std::span<std::optional<compute::SampledToken>> sampled = {});

}  // namespace inferflux::engine
