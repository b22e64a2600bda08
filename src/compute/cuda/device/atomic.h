// Atomic operations on global or shared memory, relaxed and at device scope (PTX ISA, section "atom"). To order other
// memory with them, put a FenceDevice before the one that publishes and after the one that reads.
#pragma once

#include "compute/cuda/device/language.h"
#ifndef __CUDACC__
#include "compute/cuda/host_executor/device_calls.h"
#endif

namespace inferflux::cuda {

// Each yields the value that was there before. T: int, unsigned, unsigned long long; AtomicAdd takes float too.
template <class T>
__device__ inline T AtomicAdd(T* at, T value, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  return atomicAdd(at, value);
#else
  return executor::AtomicAdd(at, value, site);
#endif
}

template <class T>
__device__ inline T AtomicMax(T* at, T value, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  return atomicMax(at, value);
#else
  return executor::AtomicMax(at, value, site);
#endif
}

template <class T>
__device__ inline T AtomicExchange(T* at, T value, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  return atomicExch(at, value);
#else
  return executor::AtomicExchange(at, value, site);
#endif
}

template <class T>
__device__ inline T AtomicCompareAndSwap(T* at, T expected, T value, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  return atomicCAS(at, expected, value);
#else
  return executor::AtomicCompareAndSwap(at, expected, value, site);
#endif
}

// PTX ISA, section "ld": .relaxed.gpu.
__device__ inline unsigned AtomicLoad(const unsigned* at, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  unsigned value;
  asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
#else
  return executor::AtomicLoad(at, site);
#endif
}

}  // namespace inferflux::cuda
