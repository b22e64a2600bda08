// What the 32 threads of a warp do together. Every lane that `mask` names has to make the same call with the same mask.
#pragma once

#include "compute/cuda/device/thread.h"

#ifndef __CUDACC__
#include <bit>
#include <cstdint>
#include <type_traits>
#endif

namespace inferflux::cuda {

// `value` of lane `source`, which the mask has to name (PTX ISA, section "shfl.sync": .idx). Orders no memory.
template <class T>
__device__ inline T Shuffle(unsigned mask, T value, int source, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  return __shfl_sync(mask, value, source);
#else
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const uint64_t bits = executor::Shuffle(mask, std::bit_cast<Bits>(value), source, site);
  return std::bit_cast<T>(static_cast<Bits>(bits));
#endif
}

// `value` of the lane whose number differs by the bits of `flip` (PTX ISA, section "shfl.sync": .bfly). Orders no
// memory.
template <class T>
__device__ inline T ShuffleXor(unsigned mask, T value, int flip, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  return __shfl_xor_sync(mask, value, flip);
#else
  return Shuffle(mask, value, Lane() ^ flip, site);
#endif
}

// A bit for each lane whose `predicate` holds (PTX ISA, section "vote.sync": .ballot). Orders no memory.
__device__ inline unsigned Ballot(unsigned mask, bool predicate, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  return __ballot_sync(mask, predicate);
#else
  return executor::Ballot(mask, predicate, site);
#endif
}

// PTX ISA, section "vote.sync": .any and .all.
__device__ inline bool Any(unsigned mask, bool predicate, Site site = Site::current()) {
  return Ballot(mask, predicate, site) != 0;
}
__device__ inline bool All(unsigned mask, bool predicate, Site site = Site::current()) {
  return Ballot(mask, predicate, site) == mask;
}

// Waits for the lanes of the mask, and makes what they wrote visible to each other (PTX ISA, section "bar.warp.sync").
__device__ inline void SyncWarp(unsigned mask = kFullWarp, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  __syncwarp(mask);
#else
  executor::SyncWarp(mask, site);
#endif
}

// All 32 lanes' values folded by `Fold`, in every lane: five exchanges, always in the same order. The host executor
// makes them at one meeting.
template <class Fold, class T>
__device__ inline T FoldWarp(T value, [[maybe_unused]] Site site) {
#ifdef __CUDACC__
  for (int flip = kWarpSize / 2; flip > 0; flip /= 2) value = Fold()(value, ShuffleXor(kFullWarp, value, flip));
#else
  executor::Together(
      &value,
      [](void* const* lanes) {
        for (int flip = kWarpSize / 2; flip > 0; flip /= 2) {
          T before[kWarpSize];
          for (int lane = 0; lane < kWarpSize; ++lane) before[lane] = *static_cast<T*>(lanes[lane]);
          for (int lane = 0; lane < kWarpSize; ++lane) {
            *static_cast<T*>(lanes[lane]) = Fold()(before[lane], before[lane ^ flip]);
          }
        }
      },
      site);
#endif
  return value;
}

struct SumOfTwo {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct LargerOfTwo {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

// The sum over all 32 lanes, in every lane: the same additions in the same order whatever the values.
template <class T>
__device__ inline T WarpSum(T value, Site site = Site::current()) {
  return FoldWarp<SumOfTwo>(value, site);
}

// The largest over all 32 lanes, in every lane.
template <class T>
__device__ inline T WarpMax(T value, Site site = Site::current()) {
  return FoldWarp<LargerOfTwo>(value, site);
}

}  // namespace inferflux::cuda
