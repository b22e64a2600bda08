// Replaces int8_matmul.cpp on AVX2.
#include INFERFLUX_LANES
// After the lanes header.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/row_lane_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

template <int kPart>
void AddInt8Matmuls(Kernels& kernels) {
  kernels.signed_offset = kSignedOffset;
  kernels.rows_in_lanes = true;
  ForFormats<kPart, kMatmulParts>([&]<class F>() {
    MatmulKernel& matmul = kernels.matmul[IndexOf(FormatOf<F>())];
    if constexpr (kIntegerScales<F>) {
      matmul = RowLaneMatmul<F>;
    } else if constexpr (F::kInt8Matmul) {
      matmul = Int8Matmul<F>;
    }
  });
}

template void AddInt8Matmuls<INFERFLUX_PART>(Kernels& kernels);

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
