// The instruction sets that this build has kernels for and this machine runs, so that each is tested where it can be.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::testing {

inline std::vector<CpuIsa> RunnableIsas() {
  std::vector<CpuIsa> out;
  for (const CpuIsa isa : compute::cpu::BuiltIsas()) {
    if (Runs(DetectCpuFeatures(), isa)) out.push_back(isa);
  }
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
