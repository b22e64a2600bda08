#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/isa/lane_product_inl.h"
#include "compute/cpu/isa/tables.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddLaneProducts(Kernels& kernels) {
  kernels.rows_in_lanes = true;
  kernels.product[static_cast<int>(PanelFormat::kQ2K)] = LaneProduct<FormatQ2K>;
  kernels.product[static_cast<int>(PanelFormat::kQ3K)] = LaneProduct<FormatQ3K>;
  kernels.product[static_cast<int>(PanelFormat::kQ4K)] = LaneProduct<FormatQ4K>;
  kernels.product[static_cast<int>(PanelFormat::kQ5K)] = LaneProduct<FormatQ5K>;
  kernels.product[static_cast<int>(PanelFormat::kQ6K)] = LaneProduct<FormatQ6K>;
  kernels.product[static_cast<int>(PanelFormat::kLattice)] = LaneProduct<FormatLattice>;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
