#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/dense_matmul_inl.h"
#include "compute/cpu/kernels/matmul/fp8_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddDenseMatmuls(Kernels& kernels) {
  kernels.product[static_cast<int>(PanelFormat::kF32)] = DenseMatmul<Widened<float>>;
  kernels.product[static_cast<int>(PanelFormat::kF16)] = DenseMatmul<Widened<Fp16>>;
  kernels.product[static_cast<int>(PanelFormat::kFp8)] = Fp8Matmul;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
