// The tables that this build has. Their kernels must only be called where the machine runs the instruction set.
#pragma once

#include "compute/cpu/kernels.h"

namespace inferflux::compute::cpu {

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512VnniKernels;
#endif

}  // namespace inferflux::compute::cpu
