// The engine on MLX: Metal on a Mac, the CPU elsewhere.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/native/engine_options.h"
#include "formats/weight_layout/weight_layout.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::engine {

// What MLX computes on here: "gpu" or "cpu".
std::string MlxDevice();

// The forms that it holds as a directory has them.
formats::WeightLayouts MlxWeightLayouts();

// To be called on the thread that will step the engine: MLX's streams belong to it.
Result<std::unique_ptr<Engine>> CreateMlxEngine(model::ModelConfig config,
                                                std::shared_ptr<const model::ModelSource> source,
                                                const EngineOptions& options);

}  // namespace inferflux::engine
