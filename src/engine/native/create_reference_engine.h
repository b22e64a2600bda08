// The engine on the scalar reference backend: the oracle of whole-model tests, and right on any machine.
#pragma once

#include <memory>

#include "base/result.h"
#include "engine/inference_backend.h"
#include "engine/native/engine_options.h"
#include "model/model_config.h"
#include "model/model_source.h"

namespace inferflux::engine {

Result<std::unique_ptr<InferenceBackend>> CreateReferenceEngine(model::ModelConfig config,
                                                                std::shared_ptr<const model::ModelSource> source,
                                                                const EngineOptions& options);

}  // namespace inferflux::engine
