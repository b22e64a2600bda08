#pragma once

#include <cmath>

namespace inferflux::compute::host {

// log(1 + e^x), without overflow.
inline float Softplus(float x) { return x > 20.0f ? x : std::log1p(std::exp(x)); }

}  // namespace inferflux::compute::host
