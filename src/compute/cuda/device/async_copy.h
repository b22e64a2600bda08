// Asynchronous copies from global into shared memory. The issuing thread may access the destination after it has waited
// for the group of the copy; the other threads of the block only after a barrier that follows this wait.
#pragma once

#include "compute/cuda/device/language.h"
#ifndef __CUDACC__
#include "compute/cuda/host_executor/device_calls.h"
#endif

namespace inferflux::cuda {

// Copies 16 bytes; with `present` false it writes zeros and reads nothing. Both addresses are multiples of 16
// (PTX ISA, section "cp.async": .cg with a src-size).
__device__ inline void CopyAsync16(void* shared, const void* global, bool present = true,
                                   [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int bytes = present ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
#else
  executor::CopyAsync(shared, global, 16, present, site);
#endif
}

// Ends a group: this thread's copies since the last one (PTX ISA, section "cp.async.commit_group").
__device__ inline void CommitCopies() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  executor::CommitCopies();
#endif
}

// Waits until at most `kPending` of this thread's latest groups are still under way (PTX ISA,
// section "cp.async.wait_group").
template <int kPending>
__device__ inline void WaitCopies() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#else
  executor::WaitCopies(kPending);
#endif
}

}  // namespace inferflux::cuda
