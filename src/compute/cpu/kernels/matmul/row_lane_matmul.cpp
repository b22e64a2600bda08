#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/kernels/isa_tables.h"
#include "compute/cpu/kernels/matmul/row_lane_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddRowLaneMatmuls(Kernels& kernels) {
  kernels.rows_in_lanes = true;
  kernels.product[static_cast<int>(PanelFormat::kQ2K)] = RowLaneMatmul<FormatQ2K>;
  kernels.product[static_cast<int>(PanelFormat::kQ3K)] = RowLaneMatmul<FormatQ3K>;
  kernels.product[static_cast<int>(PanelFormat::kQ4K)] = RowLaneMatmul<FormatQ4K>;
  kernels.product[static_cast<int>(PanelFormat::kQ5K)] = RowLaneMatmul<FormatQ5K>;
  kernels.product[static_cast<int>(PanelFormat::kQ6K)] = RowLaneMatmul<FormatQ6K>;
  kernels.product[static_cast<int>(PanelFormat::kCodebook)] = RowLaneMatmul<FormatCodebook>;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
