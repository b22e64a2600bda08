#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/isa/groups.h"
#include "compute/cpu/isa/int8_product_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddChunkProducts(Kernels& kernels) {
  kernels.product[static_cast<int>(PanelFormat::kQ2K)] = Int8Product<FormatQ2K>;
  kernels.product[static_cast<int>(PanelFormat::kQ3K)] = Int8Product<FormatQ3K>;
  kernels.product[static_cast<int>(PanelFormat::kQ4K)] = Int8Product<FormatQ4K>;
  kernels.product[static_cast<int>(PanelFormat::kQ5K)] = Int8Product<FormatQ5K>;
  kernels.product[static_cast<int>(PanelFormat::kQ6K)] = Int8Product<FormatQ6K>;
  kernels.product[static_cast<int>(PanelFormat::kLattice)] = Int8Product<FormatLattice>;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
