#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/kernels/kernel_groups.h"
#include "compute/cpu/kernels/matmul/int8_matmul_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddFloatScaleMatmuls(Kernels& kernels) {
  kernels.product[static_cast<int>(PanelFormat::kQ8_0)] = Int8Matmul<FormatQ8_0>;
  kernels.product[static_cast<int>(PanelFormat::kZeroPoint4By32)] = Int8Matmul<FormatZeroPoint4By32>;
  kernels.product[static_cast<int>(PanelFormat::kZeroPoint4By128)] = Int8Matmul<FormatZeroPoint4By128>;
  kernels.product[static_cast<int>(PanelFormat::kQ4_0)] = Int8Matmul<FormatQ4_0>;
  kernels.product[static_cast<int>(PanelFormat::kQ4_1)] = Int8Matmul<FormatQ4_1>;
  kernels.product[static_cast<int>(PanelFormat::kQ5_0)] = Int8Matmul<FormatQ5_0>;
  kernels.product[static_cast<int>(PanelFormat::kQ5_1)] = Int8Matmul<FormatQ5_1>;
  kernels.product[static_cast<int>(PanelFormat::kIq4Nl)] = Int8Matmul<FormatIq4Nl>;
  kernels.product[static_cast<int>(PanelFormat::kIq4Xs)] = Int8Matmul<FormatIq4Xs>;
  kernels.product[static_cast<int>(PanelFormat::kFp4)] = Int8Matmul<FormatFp4>;
  kernels.product[static_cast<int>(PanelFormat::kNvFp4)] = Int8Matmul<FormatNvFp4>;
  kernels.signed_offset = kSignedOffset;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
