#include "serving/backends/built_in_engines.h"

#include <algorithm>
#include <iterator>

#include "engine/native/native_backends.h"
#include "serving/backends/llama_engines.h"
#include "serving/backends/native_engines.h"

namespace inferflux::serving {

std::vector<EngineEntry> BuiltInEngines(ThreadPool& pool) {
  std::vector<EngineEntry> out = NativeEngines(pool, engine::NativeBackends());
  std::ranges::move(LlamaEngines(pool), std::back_inserter(out));
  return out;
}

}  // namespace inferflux::serving
