// The engine on MLX: Metal on a Mac, the CPU elsewhere.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "engine/inference_backend.h"
#include "engine/native/engine_options.h"
#include "formats/stored_form.h"
#include "model/model_config.h"
#include "model/model_source.h"

namespace inferflux::engine {

// What MLX computes on here: "gpu" or "cpu".
std::string MlxDevice();

// The forms that it holds as a directory has them.
formats::StoredForms MlxForms();

// To be called on the thread that will step the engine: MLX's streams belong to it.
Result<std::unique_ptr<InferenceBackend>> CreateMlxEngine(model::ModelConfig config,
                                                          std::shared_ptr<const model::ModelSource> source,
                                                          const EngineOptions& options);

}  // namespace inferflux::engine
