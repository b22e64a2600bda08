#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/amx_int8_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

template <int kPart>
void AddTileMatmuls(Kernels& kernels) {
  ForFormats<kPart, kMatmulParts>([&]<class F>() {
    // A scale of 16 inputs is a quarter of a tile's depth, and would leave the rest of it unused.
    if constexpr (F::kInt8Matmul && PartsOfBlock<F>() == 1) {
      kernels.matmul[IndexOf(FormatOf<F>())] = TiledInt8Matmul<F>;
    }
  });
}

template void AddTileMatmuls<INFERFLUX_PART>(Kernels& kernels);

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
