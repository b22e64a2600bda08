// What every engine checks of a step before it runs: ids, positions, room, outputs.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "base/result.h"
#include "engine/unified_batch.h"

namespace inferflux::engine {

// The sequence's length, where `count` more tokens can be written at its end; else why not.
using WritableLength = FunctionRef<Result<int32_t>(SequenceId sequence, int32_t count)>;

// kInvalidArgument names the item and what is wrong with it. No sequence may be in a step twice.
Status CheckStep(const UnifiedBatch& batch, WritableLength length, int32_t vocab_size, int32_t context);

}  // namespace inferflux::engine
