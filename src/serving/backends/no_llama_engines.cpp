#include "serving/backends/backend_table.h"
#include "serving/backends/llama_engines.h"
#include "serving/backends/llama_targets.h"

namespace inferflux::serving {

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

}  // namespace inferflux::serving
