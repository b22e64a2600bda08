// The kernels of one instruction set, a file for each of these: compiled once an instruction set, which INFERFLUX_ISA
// names and whose lanes header INFERFLUX_LANES is.
#pragma once

#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddAttention(Kernels& kernels);
void AddFloatScaleMatmuls(Kernels& kernels);
void AddIntegerScaleMatmuls(Kernels& kernels);
void AddDenseMatmuls(Kernels& kernels);
void AddBf16Matmuls(Kernels& kernels);
void AddRows(Kernels& kernels);

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
