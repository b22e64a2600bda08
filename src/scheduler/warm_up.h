// Steps a freshly loaded engine before anyone is served: pages come in, buffers are made, kernels are compiled.
#pragma once

#include "base/result.h"
#include "engine/engine.h"

namespace inferflux::scheduler {

// A prefill of up to `tokens` tokens and a decode, in KV of their own of which nothing stays.
Status WarmUp(engine::Engine& engine, int32_t tokens);

}  // namespace inferflux::scheduler
