// llama.cpp's engines, one for each kind of device that the linked libllama supports. The build uses one of two
// implementations: llama_engines.cpp, or no_llama_engines.cpp if there is no libllama.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::serving {

// Unavailable engines are listed with their reasons.
std::vector<EngineEntry> LlamaEngines(const ThreadPool& pool);

}  // namespace inferflux::serving
