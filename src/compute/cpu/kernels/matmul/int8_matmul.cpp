#include INFERFLUX_LANES
// After the lanes header.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/int8_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

template <int kPart>
void AddInt8Matmuls(Kernels& kernels) {
  kernels.signed_offset = kSignedOffset;
  ForFormats<kPart, kMatmulParts>([&]<class F>() {
    if constexpr (F::kInt8Matmul) kernels.matmul[IndexOf(FormatOf<F>())] = Int8Matmul<F>;
  });
}

template void AddInt8Matmuls<INFERFLUX_PART>(Kernels& kernels);

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
