// Whether a request can be served at all, known before it is queued.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/engine.h"
#include "scheduler/generation.h"

namespace inferflux::scheduler {

// kInvalidArgument names the limit that the request passes; kUnsupported what the model cannot do; else the tokens that
// the request may generate.
Result<int32_t> CheckRequest(const GenerationRequest& request, const engine::EngineInfo& engine);

}  // namespace inferflux::scheduler
