#include "routing/backend_table.h"
#include "routing/llama_engines.h"
#include "routing/llama_targets.h"

namespace inferflux::routing {

std::vector<EngineEntry> LlamaEngines(const ThreadPool&) {
  std::vector<EngineEntry> out;
  for (const Target target : kLlamaTargets) {
    out.push_back({.target = target,
                   .provider = Provider::kLlamaCpp,
                   .make = {},
                   .why_absent = fmt::format("this build has no llama.cpp; it needs {}",
                                             FindBackendRow(target, Provider::kLlamaCpp)->switched_on_by)});
  }
  return out;
}

}  // namespace inferflux::routing
