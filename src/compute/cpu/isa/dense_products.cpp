#include INFERFLUX_LANES
// After the lanes.
#include "compute/cpu/isa/dense_product_inl.h"
#include "compute/cpu/isa/fp8_product_inl.h"
#include "compute/cpu/isa/groups.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

void AddDenseProducts(Kernels& kernels) {
  kernels.product[static_cast<int>(PanelFormat::kF32)] = DenseProduct<Widened<float>>;
  kernels.product[static_cast<int>(PanelFormat::kF16)] = DenseProduct<Widened<Fp16>>;
  kernels.product[static_cast<int>(PanelFormat::kFp8)] = Fp8Product;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
