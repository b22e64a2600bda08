#include INFERFLUX_LANES
// After the lanes header.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/dense_matmul_inl.h"
#include "compute/cpu/kernels/simd/ceiling_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddBf16Matmuls(Kernels& kernels) {
  kernels.matmul[IndexOf(FormatOf<DenseBf16>())] = DenseMatmul<Bf16Pairs>;
  kernels.round_bf16 = RoundToBf16;
  kernels.bf16_rounds = Bf16Rounds;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
