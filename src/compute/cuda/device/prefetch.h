// Asks for a line of memory ahead of its use (PTX ISA, section "prefetch"). The host executor has no caches.
#pragma once

#include "compute/cuda/device/language.h"

namespace inferflux::cuda {

// Into the L2 cache. `at` is in device memory.
__device__ inline void Prefetch([[maybe_unused]] const void* at) {
#ifdef __CUDACC__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

}  // namespace inferflux::cuda
