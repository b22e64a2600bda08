// From a step's logits to what was asked of it.
#pragma once

#include <span>

#include "base/function_ref.h"
#include "engine/sampling/sampler.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// The tokens of a sequence, those of the step included.
using SequenceTokens = FunctionRef<std::span<const TokenId>(SequenceId)>;

// `logits`: [outputs but the hidden ones, vocab], in the order of items and outputs; used up. Hidden outputs get an
// empty place. The batch is committed already.
StepResult MakeOutputs(SequenceTokens tokens_of, const UnifiedBatch& batch, std::span<float> logits, int32_t vocab_size,
                       Sampler& sampler);

}  // namespace inferflux::engine
