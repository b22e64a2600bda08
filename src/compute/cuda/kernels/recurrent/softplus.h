#pragma once

#include <cmath>

#include "compute/cuda/device/language.h"

namespace inferflux::cuda {

// log(1 + e^x), without overflow.
__device__ inline float Softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }

}  // namespace inferflux::cuda
