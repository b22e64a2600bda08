#define HWY_COMPILE_ONLY_STATIC
#include "compute/cpu/isa/lanes_avx512_vnni.h"
#include "compute/cpu/isa/vector_ops_inl.h"
// Last: what it includes builds on both.
#include "compute/cpu/isa/kernel_table_inl.h"
#include "compute/cpu/isa/tables.h"

namespace inferflux::compute::cpu {

constinit const Kernels kAvx512VnniKernels = MakeKernels(CpuIsa::kAvx512Vnni);

}  // namespace inferflux::compute::cpu
