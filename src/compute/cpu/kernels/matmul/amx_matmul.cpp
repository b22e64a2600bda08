#include INFERFLUX_LANES
// After the lanes header.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/amx_int8_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

template <int kPart>
void AddTileMatmuls(Kernels& kernels) {
  ForFormats<kPart, kMatmulParts>([&]<class F>() {
    // A scale for 16 inputs covers a quarter of a tile's depth; the rest would be unused.
    if constexpr (F::kInt8Matmul && PartsOfBlock<F>() == 1) {
      kernels.matmul[IndexOf(FormatOf<F>())] = TiledInt8Matmul<F>;
    }
  });
}

template void AddTileMatmuls<INFERFLUX_PART>(Kernels& kernels);

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
