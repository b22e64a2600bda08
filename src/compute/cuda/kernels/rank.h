// Numbers that order values with their indices.
#pragma once

#include "compute/cuda/device/half.h"

namespace inferflux::cuda {

// A number that orders as the value: floats order as their bits do, once those of negative ones are turned around.
// Not-a-number is 0, below everything.
__device__ inline uint32_t OrderOf(float value) {
  if (value != value) return 0;
  const auto bits = FloatBits(value == 0.0f ? 0.0f : value);  // both zeros are one
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// A number above zero that orders as (value, lower index first).
__device__ inline unsigned long long RankOf(float value, int64_t index) {
  return static_cast<unsigned long long>(OrderOf(value)) << 32 | (0xffffffffu - static_cast<uint32_t>(index));
}

__device__ inline int32_t IndexOfRank(unsigned long long rank) {
  return static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(rank));
}

}  // namespace inferflux::cuda
