// The sampling parameters under the engine's name. They are a compute type, because a device may sample.
#pragma once

#include "compute/sampling_params.h"

namespace inferflux::engine {

using compute::SamplingParams;

}  // namespace inferflux::engine
