#include "routing/built_in_engines.h"

#include <algorithm>
#include <iterator>

#include "engine/native/create_cpu_engine.h"
#include "engine/native/create_reference_engine.h"
#include "model/families/family.h"
#include "routing/llama_engines.h"

namespace inferflux::routing {
namespace {

// Wraps an engine's own factory: what every native engine needs first is the model's configuration.
template <class Create>
EngineMaker Native(Create create) {
  return [create](const EngineRequest& request) -> Result<std::unique_ptr<engine::InferenceBackend>> {
    auto config = model::ReadModelConfig(*request.source, request.context);
    if (!config) return Forward(config);
    engine::EngineOptions options{.context = request.context, .kv_bytes = request.kv_bytes, .stop = request.stop};
    if (!request.kv_dtype.empty()) options.kv_dtype = request.kv_dtype;
    return create(std::move(*config), request.source, options);
  };
}

}  // namespace

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
       })},
  };
  std::ranges::move(LlamaEngines(pool), std::back_inserter(out));
  return out;
}

}  // namespace inferflux::routing
