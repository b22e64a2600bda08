// Which set of kernels a process uses: one that this build has, that the machine runs, and that the user did not
// exclude. A build holds the sets that INFERFLUX_CPU named at configure time (cmake/InferfluxCpu.cmake).
#pragma once

#include <span>
#include <string>

#include "base/cpu_features.h"
#include "base/result.h"
#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu {

// The best set that this build has and this machine runs, or the one that INFERFLUX_CPU_ISA names (scalar, avx2,
// avx-vnni, avx512-vnni, amx, neon). A name that is unknown, not built, or that the machine cannot run is an error that
// says which.
Result<CpuIsa> SelectCpuIsa();

// Which sets the build lacks, for people.
struct BuildNote {
  std::string text;     // empty where the build has every set of this architecture
  bool slower = false;  // the machine runs a better set than the best of the build
};
BuildNote DescribeBuild(std::span<const CpuIsa> built, const CpuFeatures& features);
BuildNote DescribeBuild();  // of this build, on this machine

}  // namespace inferflux::compute::cpu
