// Checks that every engine makes before it runs a step: ids, positions, room, outputs.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "base/result.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// Returns the sequence's length if `count` more tokens can be written at its end; otherwise an error.
using WritableLength = FunctionRef<Result<int32_t>(SequenceId sequence, int32_t count)>;

// kInvalidArgument names the item and what is wrong with it. A sequence may occur in a step only once.
Status CheckStep(const UnifiedBatch& batch, WritableLength length, int32_t vocab_size, int32_t context);

}  // namespace inferflux::engine
