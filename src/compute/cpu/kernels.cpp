#include "compute/cpu/kernels.h"

#include "compute/cpu/isa/tables.h"

namespace inferflux::compute::cpu {

const Kernels& KernelsFor(CpuIsa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case CpuIsa::kAvx2:
      return kAvx2Kernels;
    case CpuIsa::kAvx512Vnni:
      return kAvx512VnniKernels;
    case CpuIsa::kAmx:
      return kAvx512VnniKernels;  // until the tiles have kernels of their own
#endif
    default:
      return kScalarKernels;
  }
}

}  // namespace inferflux::compute::cpu
