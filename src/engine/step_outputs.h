// Turns a step's logits into the requested outputs.
#pragma once

#include <optional>
#include <span>

#include "base/function_ref.h"
#include "compute/sampling.h"
#include "engine/sampling/sampler.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// The tokens of a sequence, including those of the step.
using SequenceTokens = FunctionRef<std::span<const TokenId>(SequenceId)>;

// `logits`: [outputs that need logits and were not sampled, vocab], in the order of items and outputs; overwritten.
// Hidden outputs get an empty entry. `sampled`: the device's choices, by output that needs logits; empty if it made
// none. The batch must be committed already.
StepResult MakeOutputs(SequenceTokens tokens_of, const UnifiedBatch& batch, std::span<float> logits, int32_t vocab_size,
                       Sampler& sampler, std::span<std::optional<compute::SampledToken>> sampled = {});

}  // namespace inferflux::engine
