// The engines of this build, and for each engine that a user may request but this build lacks, the reason.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::serving {

// The engines that compute on the CPU use `pool`, which must outlive them.
std::vector<EngineEntry> BuiltInEngines(ThreadPool& pool);

}  // namespace inferflux::serving
