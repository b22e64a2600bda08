// Dot products of small integers.
#pragma once

#include <cstdint>

#include "compute/cuda/device/language.h"

namespace inferflux::cuda {

// sum + a0 * b0 + a1 * b1 with the two signed 16-bit numbers of `a`, the low one first, and two unsigned bytes of `b`:
// the low two, or with kUpper the high two (PTX ISA, section "dp2a").
template <bool kUpper>
__device__ inline int32_t DotOfTwo(uint32_t a, uint32_t b, int32_t sum) {
#ifdef __CUDACC__
  int32_t out;
  if constexpr (kUpper) {
    asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(sum));
  } else {
    asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(sum));
  }
  return out;
#else
  const uint32_t bytes = kUpper ? b >> 16 : b;
  return sum + static_cast<int16_t>(a) * static_cast<int32_t>(bytes & 255) +
         static_cast<int16_t>(a >> 16) * static_cast<int32_t>(bytes >> 8 & 255);
#endif
}

}  // namespace inferflux::cuda
