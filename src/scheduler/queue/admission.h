// Whether a request can be served at all, before it is queued.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/engine.h"
#include "scheduler/generation.h"

namespace inferflux::scheduler {

// Returns the number of tokens that the request may generate. kInvalidArgument names the limit that the request
// exceeds; kUnsupported names what the model cannot do.
Result<int32_t> CheckRequest(const GenerationRequest& request, const engine::EngineInfo& engine);

}  // namespace inferflux::scheduler
