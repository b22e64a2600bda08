// The targets that llama.cpp has devices for, in some build of it.
#pragma once

#include <array>

#include "serving/backends/target.h"

namespace inferflux::serving {

inline constexpr std::array kLlamaTargets = {Target::kCpu,  Target::kCuda, Target::kVulkan,
                                             Target::kRocm, Target::kMps,  Target::kOpencl};

}  // namespace inferflux::serving
