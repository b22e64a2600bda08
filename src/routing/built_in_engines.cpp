#include "routing/built_in_engines.h"

#include <algorithm>
#include <iterator>

#include "engine/native/create_cpu_engine.h"
#include "engine/native/create_reference_engine.h"
#include "routing/llama_engines.h"
#include "routing/mlx_engines.h"
#include "routing/native_maker.h"

namespace inferflux::routing {

std::vector<EngineEntry> BuiltInEngines(ThreadPool& pool) {
  std::vector<EngineEntry> out = {
      {.target = Target::kCpu,
       .provider = Provider::kNative,
       .make = Native([&pool](auto config, auto source, const auto& options) {
         return engine::CreateCpuEngine(pool, std::move(config), std::move(source), options);
       })},
      {.target = Target::kReference,
       .provider = Provider::kNative,
       .make = Native([](auto config, auto source, const auto& options) {
         return engine::CreateReferenceEngine(std::move(config), std::move(source), options);
       }),
       .automatic = false},  // the oracle is only for asking
  };
  std::ranges::move(LlamaEngines(pool), std::back_inserter(out));
  std::ranges::move(MlxEngines(), std::back_inserter(out));
  return out;
}

}  // namespace inferflux::routing
