// The shared memory of a block: as many bytes as the launch named, 128-byte aligned, uninitialised (PTX ISA,
// section "Shared State Space").
#pragma once

#include "compute/cuda/device/language.h"
#ifndef __CUDACC__
#include "compute/cuda/host_executor/device_calls.h"
#endif

namespace inferflux::cuda {

#ifdef __CUDACC__
extern __shared__ __align__(128) unsigned char shared_bytes_of_block[];
#endif

// Shared memory from `offset` on, in bytes, as an array of T. The offset is a multiple of T's alignment.
template <class T>
__device__ inline T* SharedMemory(unsigned offset = 0) {
#ifdef __CUDACC__
  return reinterpret_cast<T*>(shared_bytes_of_block + offset);
#else
  return reinterpret_cast<T*>(static_cast<unsigned char*>(executor::SharedMemory()) + offset);
#endif
}

}  // namespace inferflux::cuda
