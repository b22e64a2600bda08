// The kernels of one instruction set, one function per source file. Compiled once per instruction set: INFERFLUX_ISA is
// its name and INFERFLUX_LANES its lanes header.
#pragma once

#include <utility>

#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

// Slow compilations are split into several objects of the same file, each with its own INFERFLUX_PART: part p has every
// kParts-th weight format, or KV type, from the p-th on. src/compute/CMakeLists.txt repeats these numbers.
inline constexpr int kMatmulParts = 4;
inline constexpr int kAttentionParts = 5;

template <int kPart>
void AddAttention(Kernels& kernels);
template <int kPart>
void AddInt8Matmuls(Kernels& kernels);
void AddDenseMatmuls(Kernels& kernels);
void AddBf16Matmuls(Kernels& kernels);
void AddRows(Kernels& kernels);
// Replaces AddInt8Matmuls on AMX.
template <int kPart>
void AddTileMatmuls(Kernels& kernels);

// Calls add.operator()<part>() for each of kParts parts.
template <int kParts, class F>
void ForParts(const F& add) {
  [&]<int... kPart>(std::integer_sequence<int, kPart...>) { (add.template operator()<kPart>(), ...); }
  (std::make_integer_sequence<int, kParts>());
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
