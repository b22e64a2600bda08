#include "compute/cpu/kernels/kernel_table.h"

#include <array>

#include "compute/cpu/kernels/isa_tables.h"

// INFERFLUX_HAS_...: the sets in this build (src/compute/CMakeLists.txt).
namespace inferflux::compute::cpu {
namespace {

#if defined(INFERFLUX_HAS_AVX2)
const Kernels& Avx2Kernels() {
  static const Kernels kernels = avx2::AllKernels(CpuIsa::kAvx2);
  return kernels;
}
#endif

#if defined(INFERFLUX_HAS_AVX_VNNI)
const Kernels& AvxVnniKernels() {
  static const Kernels kernels = avx_vnni::AllKernels(CpuIsa::kAvxVnni);
  return kernels;
}
#endif

#if defined(INFERFLUX_HAS_AVX512_VNNI)
const Kernels& Avx512Kernels([[maybe_unused]] bool bf16) {
  static const Kernels without = avx512_vnni::AllKernels(CpuIsa::kAvx512Vnni);
#if defined(INFERFLUX_HAS_AVX512_BF16)
  static const Kernels with = [] {
    Kernels out = without;
    avx512_bf16::AddBf16Matmuls(out);
    return out;
  }();
  if (bf16) return with;
#endif
  return without;
}
#endif

#if defined(INFERFLUX_HAS_AMX)
const Kernels& AmxKernels() {
  static const Kernels kernels = [] {
    Kernels out = Avx512Kernels(/*bf16=*/false);
    out.isa = CpuIsa::kAmx;
    amx::AddAllTileMatmuls(out);
    return out;
  }();
  return kernels;
}
#endif

#if defined(INFERFLUX_HAS_NEON)
const Kernels& NeonKernels() {
  static const Kernels kernels = neon::AllKernels(CpuIsa::kNeon);
  return kernels;
}
#endif

constexpr std::array kBuilt = {
    CpuIsa::kScalar,
#if defined(INFERFLUX_HAS_AVX2)
    CpuIsa::kAvx2,
#endif
#if defined(INFERFLUX_HAS_AVX_VNNI)
    CpuIsa::kAvxVnni,
#endif
#if defined(INFERFLUX_HAS_AVX512_VNNI)
    CpuIsa::kAvx512Vnni,
#endif
#if defined(INFERFLUX_HAS_AMX)
    CpuIsa::kAmx,
#endif
#if defined(INFERFLUX_HAS_NEON)
    CpuIsa::kNeon,
#endif
};

}  // namespace

std::span<const CpuIsa> BuiltIsas() { return kBuilt; }

const Kernels& KernelsFor(CpuIsa isa, [[maybe_unused]] const CpuFeatures& features) {
  switch (isa) {
#if defined(INFERFLUX_HAS_AVX2)
    case CpuIsa::kAvx2:
      return Avx2Kernels();
#endif
#if defined(INFERFLUX_HAS_AVX_VNNI)
    case CpuIsa::kAvxVnni:
      return AvxVnniKernels();
#endif
#if defined(INFERFLUX_HAS_AVX512_VNNI)
    case CpuIsa::kAvx512Vnni:
      return Avx512Kernels(features.avx512_bf16);
#endif
#if defined(INFERFLUX_HAS_AMX)
    case CpuIsa::kAmx:
      return AmxKernels();
#endif
#if defined(INFERFLUX_HAS_NEON)
    case CpuIsa::kNeon:
      return NeonKernels();
#endif
    default: {
      static const Kernels kernels = scalar::AllKernels(CpuIsa::kScalar);
      return kernels;
    }
  }
}

}  // namespace inferflux::compute::cpu
