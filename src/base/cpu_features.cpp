#include "base/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace inferflux {
namespace {

#if defined(__x86_64__)
// Linux grants AMX tile state on request only (Documentation/x86/xstate.rst). XFEATURE_XTILEDATA is 18.
bool RequestTilePermission() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtiledata = 18;
  return ::syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}
#endif

CpuFeatures Detect() {
  CpuFeatures out;
#if defined(__x86_64__)
  out.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  out.avx512_vnni = out.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512vnni");
  out.avx512_bf16 = out.avx512_vnni && __builtin_cpu_supports("avx512bf16");
  unsigned a = 0, b = 0, c = 0, d = 0;
  out.avx_vnni = out.avx2 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && ((a >> 4) & 1u) != 0;
  if (out.avx512_vnni && __get_cpuid_count(7, 0, &a, &b, &c, &d)) {  // leaf 7 EDX: 22 AMX-BF16, 24 TILE, 25 AMX-INT8
    const bool tiles = ((d >> 24) & 1u) != 0 && RequestTilePermission();
    out.amx_bf16 = tiles && ((d >> 22) & 1u) != 0;
    out.amx_int8 = tiles && ((d >> 25) & 1u) != 0;
  }
#elif defined(__APPLE__)
  int dotprod = 0;
  size_t size = sizeof dotprod;
  out.neon_dotprod = ::sysctlbyname("hw.optional.arm.FEAT_DotProd", &dotprod, &size, nullptr, 0) == 0 && dotprod != 0;
#elif defined(__aarch64__)
  constexpr unsigned long kHwcapAsimdDp = 1ul << 20;
  out.neon_dotprod = (::getauxval(AT_HWCAP) & kHwcapAsimdDp) != 0;
#endif
  return out;
}

}  // namespace

const CpuFeatures& DetectCpuFeatures() {
  static const CpuFeatures features = Detect();
  return features;
}

bool Runs(const CpuFeatures& features, CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kScalar:
      return true;
    case CpuIsa::kAvx2:
      return features.avx2;
    case CpuIsa::kAvxVnni:
      return features.avx_vnni;
    case CpuIsa::kAvx512Vnni:
      return features.avx512_vnni;
    case CpuIsa::kAmx:
      return features.amx_int8 && features.amx_bf16;
    case CpuIsa::kNeon:
      return features.neon_dotprod;
  }
  return false;
}

std::string_view CpuIsaName(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kScalar:
      return "scalar";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvxVnni:
      return "avx-vnni";
    case CpuIsa::kAvx512Vnni:
      return "avx512-vnni";
    case CpuIsa::kAmx:
      return "amx";
    case CpuIsa::kNeon:
      return "neon";
  }
  return "unknown";
}

}  // namespace inferflux
