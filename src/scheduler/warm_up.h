// Steps a newly loaded engine before it serves requests: pages are loaded, buffers are allocated, kernels are compiled.
#pragma once

#include "base/result.h"
#include "engine/engine.h"

namespace inferflux::scheduler {

// A prefill of up to `tokens` tokens and a decode, in separate KV that is released afterwards.
Status WarmUp(engine::Engine& engine, int32_t tokens);

}  // namespace inferflux::scheduler
