#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/isa/groups.h"
#include "compute/cpu/isa/int8_product_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddBlockProducts(Kernels& kernels) {
  kernels.product[static_cast<int>(PanelFormat::kQ8_0)] = Int8Product<FormatQ8_0>;
  kernels.product[static_cast<int>(PanelFormat::kNarrow32)] = Int8Product<FormatNarrow32>;
  kernels.product[static_cast<int>(PanelFormat::kNarrow128)] = Int8Product<FormatNarrow128>;
  kernels.product[static_cast<int>(PanelFormat::kQ4_0)] = Int8Product<FormatQ4_0>;
  kernels.product[static_cast<int>(PanelFormat::kQ4_1)] = Int8Product<FormatQ4_1>;
  kernels.product[static_cast<int>(PanelFormat::kQ5_0)] = Int8Product<FormatQ5_0>;
  kernels.product[static_cast<int>(PanelFormat::kQ5_1)] = Int8Product<FormatQ5_1>;
  kernels.product[static_cast<int>(PanelFormat::kIq4Nl)] = Int8Product<FormatIq4Nl>;
  kernels.product[static_cast<int>(PanelFormat::kIq4Xs)] = Int8Product<FormatIq4Xs>;
  kernels.product[static_cast<int>(PanelFormat::kFp4)] = Int8Product<FormatFp4>;
  kernels.product[static_cast<int>(PanelFormat::kNvFp4)] = Int8Product<FormatNvFp4>;
  kernels.signed_offset = kSignedOffset;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
