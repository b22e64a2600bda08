#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/int8_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddIntegerScaleMatmuls(Kernels& kernels) {
  kernels.product[static_cast<int>(PanelFormat::kQ2K)] = Int8Matmul<FormatQ2K>;
  kernels.product[static_cast<int>(PanelFormat::kQ3K)] = Int8Matmul<FormatQ3K>;
  kernels.product[static_cast<int>(PanelFormat::kQ4K)] = Int8Matmul<FormatQ4K>;
  kernels.product[static_cast<int>(PanelFormat::kQ5K)] = Int8Matmul<FormatQ5K>;
  kernels.product[static_cast<int>(PanelFormat::kQ6K)] = Int8Matmul<FormatQ6K>;
  kernels.product[static_cast<int>(PanelFormat::kCodebook)] = Int8Matmul<FormatCodebook>;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
