// What the kernels of each instruction set are reached by. They must only be called where the machine runs it.
#pragma once

#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu {

namespace scalar {
Kernels AllKernels(CpuIsa isa);
}
#if defined(__x86_64__)
namespace avx2 {
Kernels AllKernels(CpuIsa isa);
void AddRowLaneMatmuls(Kernels& kernels);  // of bytes, for many rows
}  // namespace avx2
namespace avx_vnni {
Kernels AllKernels(CpuIsa isa);
}
namespace avx512_vnni {
Kernels AllKernels(CpuIsa isa);
}
namespace avx512_bf16 {  // what it has beside avx512_vnni
void AddBf16Matmuls(Kernels& kernels);
}
namespace amx {  // the same
void AddTileMatmuls(Kernels& kernels);
}
#elif defined(__aarch64__)
namespace neon {
Kernels AllKernels(CpuIsa isa);
}
#endif

}  // namespace inferflux::compute::cpu
