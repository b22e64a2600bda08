#include INFERFLUX_LANES
// After the lanes header.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/dense_matmul_inl.h"
#include "compute/cpu/kernels/matmul/fp8_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddDenseMatmuls(Kernels& kernels) {
  kernels.matmul[IndexOf(FormatOf<DenseF32>())] = DenseMatmul<Widened<float>>;
  kernels.matmul[IndexOf(FormatOf<DenseF16>())] = DenseMatmul<Widened<Fp16>>;
  kernels.matmul[IndexOf(FormatOf<ChunkedFp8>())] = Fp8Matmul;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
