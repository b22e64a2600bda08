#define HWY_COMPILE_ONLY_SCALAR
#include "compute/cpu/isa/lanes_scalar.h"
#include "compute/cpu/isa/vector_ops_inl.h"
// Last: what it includes builds on both.
#include "compute/cpu/isa/kernel_table_inl.h"
#include "compute/cpu/isa/tables.h"

namespace inferflux::compute::cpu {

constinit const Kernels kScalarKernels = MakeKernels(CpuIsa::kScalar);

}  // namespace inferflux::compute::cpu
