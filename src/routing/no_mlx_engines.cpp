#include "routing/mlx_engines.h"

namespace inferflux::routing {

std::vector<EngineEntry> MlxEngines() {
  std::vector<EngineEntry> out;
  for (const Target target : {Target::kMlx, Target::kMps}) {
    out.push_back({.target = target,
                   .provider = Provider::kNative,
                   .make = {},
                   .why_absent = "this build has no MLX (scripts/install-mlx, then configure and build again)"});
  }
  return out;
}

}  // namespace inferflux::routing
