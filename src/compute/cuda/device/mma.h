// Products of small matrices by a warp. A fragment is a thread's share of a matrix, in 32-bit registers; the layouts
// are those of PTX ISA 9.7.14.5 ("Matrix Fragments for mma.m16n8k16 with floating point type" and "for mma.m16n8k32").
// All 32 lanes have to make the same call.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "compute/cuda/device/language.h"
#ifndef __CUDACC__
#include "compute/cuda/host_executor/device_calls.h"
#endif

namespace inferflux::cuda {

// A: 16 rows of 32 bytes (16 elements of 16 bits, 32 of 8 bits), row-major. B: 8 columns of 32 bytes. C and D: 16 x 8.
struct FragmentA {
  uint32_t x[4];
};
struct FragmentB {
  uint32_t x[2];
};
template <class T>
struct FragmentC {
  T x[4];
};

// Loads four 8x8 matrices of 16-bit elements from shared memory: lane i gives the address of row i % 8 of matrix i / 8,
// a multiple of 16 bytes, and gets elements 2 * (lane % 4) and the next of row lane / 4 of each matrix
// (PTX ISA 9.7.14.5.15, ldmatrix.x4). `kTranspose` swaps rows and columns of each.
template <bool kTranspose = false>
__device__ inline void LoadMatrix4(uint32_t (&to)[4], const void* row, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (kTranspose) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  }
#else
  executor::LoadMatrix(to, 4, kTranspose, row, site);
#endif
}

// The same for two matrices, whose addresses lanes 0 to 15 give (ldmatrix.x2).
template <bool kTranspose = false>
__device__ inline void LoadMatrix2(uint32_t (&to)[2], const void* row, [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (kTranspose) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(from)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(from)
                 : "memory");
  }
#else
  executor::LoadMatrix(to, 2, kTranspose, row, site);
#endif
}

#ifdef __CUDACC__
#define INFERFLUX_MMA(instruction, constraint, d, a, b)                                                \
  asm(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                   \
      : "+" constraint(d.x[0]), "+" constraint(d.x[1]), "+" constraint(d.x[2]), "+" constraint(d.x[3]) \
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.x[0]), "r"(b.x[1]))
#endif

// d += a * b for elements of type T: Fp16 or Bf16 (m16n8k16), Fp8 (m16n8k32, sm_89 and above), summed in float
// (PTX ISA, section "mma"). The device's order of additions is not specified.
template <class T>
__device__ inline void MatMulAdd(FragmentC<float>& d, const FragmentA& a, const FragmentB& b,
                                 [[maybe_unused]] Site site = Site::current());

template <>
__device__ inline void MatMulAdd<Fp16>(FragmentC<float>& d, const FragmentA& a, const FragmentB& b,
                                       [[maybe_unused]] Site site) {
#ifdef __CUDACC__
  INFERFLUX_MMA("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f", d, a, b);
#else
  executor::MatMulAdd(executor::MmaType::kFp16, d.x, a.x, b.x, site);
#endif
}

template <>
__device__ inline void MatMulAdd<Bf16>(FragmentC<float>& d, const FragmentA& a, const FragmentB& b,
                                       [[maybe_unused]] Site site) {
#ifdef __CUDACC__
  INFERFLUX_MMA("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f", d, a, b);
#else
  executor::MatMulAdd(executor::MmaType::kBf16, d.x, a.x, b.x, site);
#endif
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
template <>
__device__ inline void MatMulAdd<Fp8>(FragmentC<float>& d, const FragmentA& a, const FragmentB& b,
                                      [[maybe_unused]] Site site) {
#ifdef __CUDACC__
  INFERFLUX_MMA("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "f", d, a, b);
#else
  executor::MatMulAdd(executor::MmaType::kFp8, d.x, a.x, b.x, site);
#endif
}
#endif

// The same for signed bytes, summed in 32-bit integers that wrap around (m16n8k32 without .satfinite).
__device__ inline void MatMulAdd(FragmentC<int32_t>& d, const FragmentA& a, const FragmentB& b,
                                 [[maybe_unused]] Site site = Site::current()) {
#ifdef __CUDACC__
  INFERFLUX_MMA("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "r", d, a, b);
#else
  executor::MatMulAdd(d.x, a.x, b.x, site);
#endif
}

#undef INFERFLUX_MMA

}  // namespace inferflux::cuda
