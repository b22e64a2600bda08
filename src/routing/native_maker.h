// What every native engine needs first is the model's configuration.
#pragma once

#include <memory>
#include <utility>

#include "engine/native/engine_options.h"
#include "model/families/family.h"
#include "routing/backend_factory.h"

namespace inferflux::routing {

// Wraps an engine's own factory, create(config, source, options).
template <class Create>
EngineMaker Native(Create create) {
  return [create](const EngineRequest& request) -> Result<std::unique_ptr<engine::InferenceBackend>> {
    auto config = model::ReadModelConfig(*request.source, request.context);
    if (!config) return Forward(config);
    engine::EngineOptions options{.context = request.context, .kv_bytes = request.kv_bytes,
                                  .mlx_requantise = request.mlx_requantise, .repack = request.repack, .stop = request.stop};
    if (!request.kv_dtype.empty()) options.kv_dtype = request.kv_dtype;
    return create(std::move(*config), request.source, options);
  };
}

}  // namespace inferflux::routing
