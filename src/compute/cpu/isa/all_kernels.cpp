#include "compute/cpu/isa/groups.h"
#include "compute/cpu/isa/tables.h"

namespace inferflux::compute::cpu::INFERFLUX_ISA {

Kernels AllKernels(CpuIsa isa) {
  Kernels out;
  out.isa = isa;
  AddAttention(out);
  AddBlockProducts(out);
  AddChunkProducts(out);
  AddDenseProducts(out);
  AddBf16Products(out);
  AddRows(out);
  return out;
}

}  // namespace inferflux::compute::cpu::INFERFLUX_ISA
