// The targets that llama.cpp has devices for, in some build of it.
#pragma once

#include <array>

#include "routing/target.h"

namespace inferflux::routing {

inline constexpr std::array kLlamaTargets = {Target::kCpu,  Target::kCuda, Target::kVulkan,
                                             Target::kRocm, Target::kMps,  Target::kOpencl};

}  // namespace inferflux::routing
