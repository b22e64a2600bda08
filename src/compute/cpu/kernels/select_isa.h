// Selects the set of kernels for a process: one that this build has, that the machine supports, and that the user did
// not exclude. INFERFLUX_CPU names the sets of a build at configure time (cmake/InferfluxCpu.cmake).
#pragma once

#include <span>
#include <string>

#include "base/cpu_features.h"
#include "base/result.h"
#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu {

// The best set that this build has and this machine supports, or the one that INFERFLUX_CPU_ISA names (scalar, avx2,
// avx-vnni, avx512-vnni, amx, neon). If that is unknown, not built, or not supported by the machine, the error says
// which.
Result<CpuIsa> SelectCpuIsa();

// The sets that the build lacks, for users.
struct BuildNote {
  std::string text;     // empty if the build has every set of this architecture
  bool slower = false;  // the machine supports a better set than the build's best
};
BuildNote DescribeBuild(std::span<const CpuIsa> built, const CpuFeatures& features);
BuildNote DescribeBuild();  // of this build, on this machine

}  // namespace inferflux::compute::cpu
