#include "compute/cpu/kernels/kernel_table.h"

#include "compute/cpu/kernels/isa_tables.h"

namespace inferflux::compute::cpu {
namespace {

#if defined(__x86_64__)
const Kernels& Avx512Kernels(bool bf16) {
  static const Kernels without = avx512_vnni::AllKernels(CpuIsa::kAvx512Vnni);
  static const Kernels with = [] {
    Kernels out = without;
    avx512_bf16::AddBf16Matmuls(out);
    return out;
  }();
  return bf16 ? with : without;
}

const Kernels& AmxKernels() {
  static const Kernels kernels = [] {
    Kernels out = Avx512Kernels(/*bf16=*/false);
    out.isa = CpuIsa::kAmx;
    amx::AddTileMatmuls(out);
    return out;
  }();
  return kernels;
}
#endif

}  // namespace

const Kernels& KernelsFor(CpuIsa isa, [[maybe_unused]] const CpuFeatures& features) {
  switch (isa) {
#if defined(__x86_64__)
    case CpuIsa::kAvx2: {
      static const Kernels kernels = [&] {
        Kernels out = avx2::AllKernels(isa);
        avx2::AddRowLaneMatmuls(out);
        return out;
      }();
      return kernels;
    }
    case CpuIsa::kAvxVnni: {
      static const Kernels kernels = avx_vnni::AllKernels(isa);
      return kernels;
    }
    case CpuIsa::kAvx512Vnni:
      return Avx512Kernels(features.avx512_bf16);
    case CpuIsa::kAmx:
      return AmxKernels();
#elif defined(__aarch64__)
    case CpuIsa::kNeon: {
      static const Kernels kernels = neon::AllKernels(isa);
      return kernels;
    }
#endif
    default: {
      static const Kernels kernels = scalar::AllKernels(CpuIsa::kScalar);
      return kernels;
    }
  }
}

}  // namespace inferflux::compute::cpu
