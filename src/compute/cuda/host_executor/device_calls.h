// What the device headers call in a host build. Each may switch to another thread of the kernel, or end the launch with
// a fault, in which case it never returns.
#pragma once

#include <cstdint>
#include <source_location>

#include "compute/cuda/device/language.h"

namespace inferflux::cuda::executor {

// --- who ---
Dim3 ThreadIndex();
Dim3 BlockSize();
Dim3 BlockIndex();
Dim3 GridSize();
void* SharedMemory();

// --- barriers and warps ---
void SyncThreads(Site site);
void SyncWarp(unsigned mask, Site site);
void FenceDevice();
uint64_t Shuffle(unsigned mask, uint64_t value, int source, Site site);
unsigned Ballot(unsigned mask, bool predicate, Site site);
// All 32 lanes bring an operand on their own stacks; the last one calls `combine` with all of them.
void Together(void* operand, void (*combine)(void* const* operands), Site site);

// --- asynchronous copies ---
void CopyAsync(void* shared, const void* global, int bytes, bool present, Site site);
void CommitCopies();
void WaitCopies(int pending);

// --- matrices ---
enum class MmaType { kFp16, kBf16, kFp8 };
void LoadMatrix(uint32_t* to, int matrices, bool transpose, const void* row, Site site);
void MatMulAdd(MmaType type, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Site site);
void MatMulAdd(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Site site);

// --- atomics: T is int, unsigned or unsigned long long, and float where a sum is made ---
template <class T>
T AtomicAdd(T* at, T value, Site site);
template <class T>
T AtomicMax(T* at, T value, Site site);
template <class T>
T AtomicExchange(T* at, T value, Site site);
template <class T>
T AtomicCompareAndSwap(T* at, T expected, T value, Site site);
unsigned AtomicLoad(const unsigned* at, Site site);

}  // namespace inferflux::cuda::executor
