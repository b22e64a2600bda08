// The engine on the scalar reference backend: the oracle of whole-model tests, and right on any machine.
#pragma once

#include <memory>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/native/engine_options.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::engine {

Result<std::unique_ptr<Engine>> CreateReferenceEngine(model::ModelConfig config,
                                                      std::shared_ptr<const model::ModelSource> source,
                                                      const EngineOptions& options);

}  // namespace inferflux::engine
