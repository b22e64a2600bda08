#include "serving/backends/backend_table.h"
#include "serving/backends/mlx_engines.h"

namespace inferflux::serving {

std::vector<EngineEntry> MlxEngines() {
  std::vector<EngineEntry> out;
  for (const Target target : {Target::kMlx, Target::kMps}) {
    out.push_back({.target = target,
                   .provider = Provider::kNative,
                   .make = {},
                   .why_absent = fmt::format("this build has no MLX; it needs {}",
                                             FindBackendRow(target, Provider::kNative)->switched_on_by)});
  }
  return out;
}

}  // namespace inferflux::serving
