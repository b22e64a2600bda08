// The instruction sets that this machine runs, so that each is tested where it can be.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "base/cpu_features.h"

namespace inferflux::testing {

inline std::vector<CpuIsa> RunnableIsas() {
  const CpuFeatures& features = DetectCpuFeatures();
  std::vector<CpuIsa> out{CpuIsa::kScalar};
  if (features.avx2) out.push_back(CpuIsa::kAvx2);
  if (features.avx_vnni) out.push_back(CpuIsa::kAvxVnni);
  if (features.avx512_vnni) out.push_back(CpuIsa::kAvx512Vnni);
  if (features.amx_int8 && features.amx_bf16) out.push_back(CpuIsa::kAmx);
  if (features.neon_dotprod) out.push_back(CpuIsa::kNeon);
  return out;
}

// Forces an instruction set on the engines that are made while it lives, as a user would.
class ForcedIsa {
 public:
  explicit ForcedIsa(CpuIsa isa) { ::setenv(kVariable, std::string(CpuIsaName(isa)).c_str(), 1); }
  ~ForcedIsa() { ::unsetenv(kVariable); }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  static constexpr const char* kVariable = "INFERFLUX_CPU_ISA";
};

}  // namespace inferflux::testing
