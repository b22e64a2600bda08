// MLX as this build has it.
#pragma once

#include <vector>

#include "serving/backends/backend_factory.h"

namespace inferflux::serving {

// Entries for `mlx` and `mps`. Without MLX, or without a Mac's GPU, they say why they cannot serve and what to do.
std::vector<EngineEntry> MlxEngines();

}  // namespace inferflux::serving
