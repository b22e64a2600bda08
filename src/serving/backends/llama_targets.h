// The targets for which some build of llama.cpp has devices.
#pragma once

#include <array>

#include "serving/backends/target.h"

namespace inferflux::serving {

inline constexpr std::array kLlamaTargets = {Target::kCpu,  Target::kCuda, Target::kVulkan,
                                             Target::kRocm, Target::kMps,  Target::kOpencl};

}  // namespace inferflux::serving
