// The kernels of one instruction set, a function for each file of them: compiled once an instruction set, which
// INFERFLUX_ISA names and whose lanes header INFERFLUX_LANES is.
#pragma once

#include <utility>

#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

// What takes long to compile is spread over several objects of the same file, each with an INFERFLUX_PART of its own:
// part p has every kParts-th weight format, or KV type, from the p-th on. src/compute/CMakeLists.txt has these numbers
// too.
inline constexpr int kMatmulParts = 4;
inline constexpr int kAttentionParts = 5;

template <int kPart>
void AddAttention(Kernels& kernels);
template <int kPart>
void AddInt8Matmuls(Kernels& kernels);
void AddDenseMatmuls(Kernels& kernels);
void AddBf16Matmuls(Kernels& kernels);
void AddRows(Kernels& kernels);
// On AMX, in place of AddInt8Matmuls.
template <int kPart>
void AddTileMatmuls(Kernels& kernels);

// Calls add.operator()<part>() for each of kParts parts.
template <int kParts, class F>
void ForParts(const F& add) {
  [&]<int... kPart>(std::integer_sequence<int, kPart...>) { (add.template operator()<kPart>(), ...); }
  (std::make_integer_sequence<int, kParts>());
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
