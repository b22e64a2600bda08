// Our own engines, for the programs that pass their list of compute backends.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/native/native_backends.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::serving {

// An entry for each native row of the backend table; a row whose compute backend is not among `backends` is listed with
// the reason. `backends` and `pool` must outlive the entries. Engines that compute on the CPU use `pool`.
std::vector<EngineEntry> NativeEngines(ThreadPool& pool, std::span<const engine::NativeBackend> backends);

}  // namespace inferflux::serving
