// Numbers that order values with their indices.
#pragma once

#include "compute/cuda/device/half.h"

namespace inferflux::cuda {

// A number above zero that orders as (value, lower index first): floats order as their bits do, once those of negative
// ones are turned around. Not-a-number is below everything.
__device__ inline unsigned long long RankOf(float value, int64_t index) {
  const auto bits = FloatBits(value == 0.0f ? 0.0f : value);  // both zeros are one
  const uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  const bool number = value == value;
  return static_cast<unsigned long long>(number ? ordered : 0u) << 32 | (0xffffffffu - static_cast<uint32_t>(index));
}

__device__ inline int32_t IndexOfRank(unsigned long long rank) {
  return static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(rank));
}

}  // namespace inferflux::cuda
