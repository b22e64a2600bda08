#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/kernels/isa_tables.h"
#include "compute/cpu/kernels/matmul/amx_bf16_matmul_inl.h"
#include "compute/cpu/kernels/matmul/amx_ceiling_inl.h"
#include "compute/cpu/kernels/matmul/amx_int8_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddTileMatmuls(Kernels& kernels) {
  kernels.product[static_cast<int>(PanelFormat::kBf16)] = TiledBf16Matmul;
  kernels.product[static_cast<int>(PanelFormat::kQ8_0)] = TiledInt8Matmul<FormatQ8_0>;
  kernels.product[static_cast<int>(PanelFormat::kZeroPoint4By32)] = TiledInt8Matmul<FormatZeroPoint4By32>;
  kernels.product[static_cast<int>(PanelFormat::kZeroPoint4By128)] = TiledInt8Matmul<FormatZeroPoint4By128>;
  kernels.product[static_cast<int>(PanelFormat::kQ4_0)] = TiledInt8Matmul<FormatQ4_0>;
  kernels.product[static_cast<int>(PanelFormat::kQ4_1)] = TiledInt8Matmul<FormatQ4_1>;
  kernels.product[static_cast<int>(PanelFormat::kQ5_0)] = TiledInt8Matmul<FormatQ5_0>;
  kernels.product[static_cast<int>(PanelFormat::kQ5_1)] = TiledInt8Matmul<FormatQ5_1>;
  kernels.product[static_cast<int>(PanelFormat::kIq4Nl)] = TiledInt8Matmul<FormatIq4Nl>;
  kernels.product[static_cast<int>(PanelFormat::kIq4Xs)] = TiledInt8Matmul<FormatIq4Xs>;
  kernels.product[static_cast<int>(PanelFormat::kFp4)] = TiledInt8Matmul<FormatFp4>;
  kernels.product[static_cast<int>(PanelFormat::kQ2K)] = TiledInt8Matmul<FormatQ2K>;
  kernels.product[static_cast<int>(PanelFormat::kQ3K)] = TiledInt8Matmul<FormatQ3K>;
  kernels.product[static_cast<int>(PanelFormat::kQ4K)] = TiledInt8Matmul<FormatQ4K>;
  kernels.product[static_cast<int>(PanelFormat::kQ5K)] = TiledInt8Matmul<FormatQ5K>;
  kernels.product[static_cast<int>(PanelFormat::kQ6K)] = TiledInt8Matmul<FormatQ6K>;
  kernels.product[static_cast<int>(PanelFormat::kCodebook)] = TiledInt8Matmul<FormatCodebook>;
  kernels.int8_rounds = Int8TileRounds;
  kernels.bf16_rounds = Bf16TileRounds;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
