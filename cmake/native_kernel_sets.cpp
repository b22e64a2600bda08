// Run at configure time: prints the kernel sets that this machine runs best, as a CMake list.
#include <cstdio>

#include "base/cpu_features.h"

int main() {
  using inferflux::CpuIsa;
  const inferflux::CpuFeatures& features = inferflux::DetectCpuFeatures();
  if (Runs(features, CpuIsa::kNeon)) {
    std::printf("neon");
  } else if (Runs(features, CpuIsa::kAvx512Vnni)) {
    std::printf("avx512_vnni%s%s", features.avx512_bf16 ? ";avx512_bf16" : "",
                Runs(features, CpuIsa::kAmx) ? ";amx" : "");
  } else if (Runs(features, CpuIsa::kAvxVnni)) {
    std::printf("avx_vnni");
  } else if (Runs(features, CpuIsa::kAvx2)) {
    std::printf("avx2");
  }
  return 0;
}
