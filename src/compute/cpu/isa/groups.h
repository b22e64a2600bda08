// The kernels of one instruction set, a file for each of these: compiled once an instruction set, which INFERFLUX_ISA
// names and whose lanes header INFERFLUX_LANES is.
#pragma once

#include "compute/cpu/kernels.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddAttention(Kernels& kernels);
void AddBlockProducts(Kernels& kernels);
void AddChunkProducts(Kernels& kernels);
void AddDenseProducts(Kernels& kernels);
void AddBf16Products(Kernels& kernels);
void AddRows(Kernels& kernels);

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
