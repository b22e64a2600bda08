// From a step's logits to what was asked of it.
#pragma once

#include <span>

#include "engine/kv/kv_store.h"
#include "engine/sampling/sampler.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// `logits`: [outputs, vocab], in the order of items and outputs; used up. The batch is committed already.
StepResult MakeOutputs(const KvStore& store, const UnifiedBatch& batch, std::span<float> logits, int32_t vocab_size,
                       Sampler& sampler);

}  // namespace inferflux::engine
