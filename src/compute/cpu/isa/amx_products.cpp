#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/isa/amx_bf16_product_inl.h"
#include "compute/cpu/isa/amx_int8_product_inl.h"
#include "compute/cpu/isa/amx_meter_inl.h"
#include "compute/cpu/isa/tables.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddTileProducts(Kernels& kernels) {
  kernels.product[static_cast<int>(PanelFormat::kBf16)] = TiledBf16Product;
  kernels.product[static_cast<int>(PanelFormat::kQ8_0)] = TiledInt8Product<FormatQ8_0>;
  kernels.product[static_cast<int>(PanelFormat::kNarrow32)] = TiledInt8Product<FormatNarrow32>;
  kernels.product[static_cast<int>(PanelFormat::kNarrow128)] = TiledInt8Product<FormatNarrow128>;
  kernels.product[static_cast<int>(PanelFormat::kQ4_0)] = TiledInt8Product<FormatQ4_0>;
  kernels.product[static_cast<int>(PanelFormat::kQ4_1)] = TiledInt8Product<FormatQ4_1>;
  kernels.product[static_cast<int>(PanelFormat::kQ5_0)] = TiledInt8Product<FormatQ5_0>;
  kernels.product[static_cast<int>(PanelFormat::kQ5_1)] = TiledInt8Product<FormatQ5_1>;
  kernels.product[static_cast<int>(PanelFormat::kIq4Nl)] = TiledInt8Product<FormatIq4Nl>;
  kernels.product[static_cast<int>(PanelFormat::kIq4Xs)] = TiledInt8Product<FormatIq4Xs>;
  kernels.product[static_cast<int>(PanelFormat::kFp4)] = TiledInt8Product<FormatFp4>;
  kernels.product[static_cast<int>(PanelFormat::kQ2K)] = TiledInt8Product<FormatQ2K>;
  kernels.product[static_cast<int>(PanelFormat::kQ3K)] = TiledInt8Product<FormatQ3K>;
  kernels.product[static_cast<int>(PanelFormat::kQ4K)] = TiledInt8Product<FormatQ4K>;
  kernels.product[static_cast<int>(PanelFormat::kQ5K)] = TiledInt8Product<FormatQ5K>;
  kernels.product[static_cast<int>(PanelFormat::kQ6K)] = TiledInt8Product<FormatQ6K>;
  kernels.product[static_cast<int>(PanelFormat::kLattice)] = TiledInt8Product<FormatLattice>;
  kernels.int8_rounds = Int8TileRounds;
  kernels.bf16_rounds = Bf16TileRounds;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
