// The engines that this build has, and, for what a user may ask for and it has not, why.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::serving {

// `pool` is lent to the engines that compute on the CPU and must outlive them.
std::vector<EngineEntry> BuiltInEngines(ThreadPool& pool);

}  // namespace inferflux::serving
