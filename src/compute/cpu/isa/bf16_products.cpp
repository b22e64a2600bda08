#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/isa/dense_product_inl.h"
#include "compute/cpu/isa/groups.h"
#include "compute/cpu/isa/meter_inl.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddBf16Products(Kernels& kernels) {
  kernels.product[static_cast<int>(PanelFormat::kBf16)] = DenseProduct<Bf16Pairs>;
  kernels.round_bf16 = RoundToBf16;
  kernels.bf16_rounds = Bf16Rounds;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
