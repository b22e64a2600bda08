// llama.cpp's engines: one for each kind of device that the linked libllama offers. Two files implement this, and the
// build takes the one that fits: llama_engines.cpp, or no_llama_engines.cpp where there is no libllama.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::serving {

// What cannot be had is listed with its reason.
std::vector<EngineEntry> LlamaEngines(const ThreadPool& pool);

}  // namespace inferflux::serving
