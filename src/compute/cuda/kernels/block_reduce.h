// Sums and maxima over a block.
#pragma once

#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"

namespace inferflux::cuda {

inline constexpr unsigned kReduceBytes = kWarpSize * sizeof(float);  // of shared memory

// The sum over the block, in every thread. Blocks are of one dimension and of whole warps; `shared` has kReduceBytes
// and may be used again after the next barrier.
__device__ inline float BlockSum(float value, float* shared) {
  value = WarpSum(value);
  if (Lane() == 0) shared[Warp()] = value;
  SyncThreads();
  const int warps = static_cast<int>(BlockSize().x) / kWarpSize;
  return WarpSum(Lane() < warps ? shared[Lane()] : 0.0f);
}

// The largest over the block, in the same way.
__device__ inline float BlockMax(float value, float* shared) {
  value = WarpMax(value);
  if (Lane() == 0) shared[Warp()] = value;
  SyncThreads();
  const int warps = static_cast<int>(BlockSize().x) / kWarpSize;
  return WarpMax(shared[Lane() < warps ? Lane() : 0]);
}

// Threads for a row of this many steps: whole warps, as few as needed, at most `most`. It depends on the row's width
// only, so that a row's sums do not depend on what else is in the batch.
inline unsigned RowThreads(int64_t steps, unsigned most = 256) {
  const int64_t threads = (steps + kWarpSize - 1) / kWarpSize * kWarpSize;
  return threads < most ? static_cast<unsigned>(threads) : most;
}

}  // namespace inferflux::cuda
