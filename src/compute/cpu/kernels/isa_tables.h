// How kernel_table.cpp reaches the kernels of each instruction set. Call them only on machines that have it.
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
namespace avx512_bf16 {  // what it has beyond avx512_vnni
void AddBf16Matmuls(Kernels& kernels);
}
namespace amx {  // the same
void AddAllTileMatmuls(Kernels& kernels);
}
namespace neon {
Kernels AllKernels(CpuIsa isa);
}

}  // namespace inferflux::compute::cpu
