#include INFERFLUX_LANES
// After the lanes header.
#include "compute/cpu/kernels/isa_tables.h"
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/amx_bf16_matmul_inl.h"
#include "compute/cpu/kernels/matmul/amx_ceiling_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddAllTileMatmuls(Kernels& kernels) {
  ForParts<kMatmulParts>([&]<int kPart>() { AddTileMatmuls<kPart>(kernels); });
  kernels.matmul[IndexOf(FormatOf<DenseBf16>())] = TiledBf16Matmul;
  kernels.int8_rounds = Int8TileRounds;
  kernels.bf16_rounds = Bf16TileRounds;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
