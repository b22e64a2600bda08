// The kernels of each instruction set, for kernel_table.cpp. Call them only on machines that support the set.
#pragma once

#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu {

namespace scalar {
Kernels AllKernels(CpuIsa isa);
}
namespace avx2 {
Kernels AllKernels(CpuIsa isa);
}
namespace avx_vnni {
Kernels AllKernels(CpuIsa isa);
}
namespace avx512_vnni {
Kernels AllKernels(CpuIsa isa);
}
namespace avx512_bf16 {  // beyond avx512_vnni
void AddBf16Matmuls(Kernels& kernels);
}
namespace amx {  // beyond avx512_vnni
void AddAllTileMatmuls(Kernels& kernels);
}
namespace neon {
Kernels AllKernels(CpuIsa isa);
}

}  // namespace inferflux::compute::cpu
