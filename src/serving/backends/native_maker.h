// What every native engine needs first is the model's configuration.
#pragma once

#include <memory>
#include <utility>

#include "engine/native/engine_options.h"
#include "model/families/family.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::serving {

// Wraps an engine's own factory, create(config, source, options).
template <class Create>
EngineMaker Native(Create create) {
  return [create](const EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
    auto config = model::ReadModelConfig(*request.source, request.context);
    if (!config) return Forward(config);
    const BackendConfig& wanted = request.config;
    engine::EngineOptions options{
        .context = request.context, .kv_bytes = wanted.kv_budget.value_or(0), .stop = request.stop};
    options.mlx_requantise = wanted.mlx_requantise.value_or(options.mlx_requantise);
    options.repack = wanted.repack.value_or(options.repack);
    options.kv_dtype = wanted.kv_dtype.value_or(options.kv_dtype);
    return create(std::move(*config), request.source, options);
  };
}

}  // namespace inferflux::serving
