#include "compute/cpu/kernels/isa_tables.h"
#include "compute/cpu/kernels/kernel_groups.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

Kernels AllKernels(CpuIsa isa) {
  Kernels out;
  out.isa = isa;
  ForParts<kAttentionParts>([&]<int kPart>() { AddAttention<kPart>(out); });
  ForParts<kMatmulParts>([&]<int kPart>() { AddInt8Matmuls<kPart>(out); });
  AddDenseMatmuls(out);
  AddBf16Matmuls(out);
  AddRows(out);
  return out;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
