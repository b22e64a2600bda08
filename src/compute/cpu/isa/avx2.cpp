#define HWY_COMPILE_ONLY_STATIC
#include "compute/cpu/isa/lanes_avx2.h"
#include "compute/cpu/isa/vector_ops_inl.h"
// Last: what it includes builds on both.
#include "compute/cpu/isa/kernel_table_inl.h"
#include "compute/cpu/isa/tables.h"

namespace inferflux::compute::cpu {

constinit const Kernels kAvx2Kernels = MakeKernels(CpuIsa::kAvx2);

}  // namespace inferflux::compute::cpu
