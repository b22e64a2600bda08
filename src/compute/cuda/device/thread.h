// Who a thread is, and the barriers of its block.
#pragma once

#include "compute/cuda/device/language.h"
#ifndef __CUDACC__
#include "compute/cuda/host_executor/device_calls.h"
#endif

namespace inferflux::cuda {

// PTX ISA, section "%tid".
__device__ inline Dim3 ThreadIndex() {
#ifdef __CUDACC__
  return {threadIdx.x, threadIdx.y, threadIdx.z};
#else
  return executor::ThreadIndex();
#endif
}

// PTX ISA, section "%ntid".
__device__ inline Dim3 BlockSize() {
#ifdef __CUDACC__
  return {blockDim.x, blockDim.y, blockDim.z};
#else
  return executor::BlockSize();
#endif
}

// PTX ISA, section "%ctaid".
__device__ inline Dim3 BlockIndex() {
#ifdef __CUDACC__
  return {blockIdx.x, blockIdx.y, blockIdx.z};
#else
  return executor::BlockIndex();
#endif
}

// PTX ISA, section "%nctaid".
__device__ inline Dim3 GridSize() {
#ifdef __CUDACC__
  return {gridDim.x, gridDim.y, gridDim.z};
#else
  return executor::GridSize();
#endif
}

// The lane in its warp, in blocks of one dimension (PTX ISA, section "%laneid").
__device__ inline int Lane() { return static_cast<int>(ThreadIndex().x) % kWarpSize; }

// The warp in its block, in blocks of one dimension. PTX's %warpid may change while a thread runs; this does not.
__device__ inline int Warp() { return static_cast<int>(ThreadIndex().x) / kWarpSize; }

// Waits for every thread of the block, and makes what they wrote visible (PTX ISA, section "bar": bar.sync 0).
__device__ inline void SyncThreads([[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  __syncthreads();
#else
  executor::SyncThreads(site);
#endif
}

// What this thread wrote before is seen by the whole device before what it writes after (PTX ISA, section
// "membar": fence.sc.gpu).
__device__ inline void FenceDevice() {
#ifdef __CUDACC__
  __threadfence();
#else
  executor::FenceDevice();
#endif
}

}  // namespace inferflux::cuda
