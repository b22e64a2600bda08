#include "engine/native/create_mlx_engine.h"

#include "base/without_exceptions.h"
#include "compute/mlx/kv_pieces.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/optional_ops.h"
#include "engine/native/native_engine.h"

namespace inferflux::engine {

std::string MlxDevice() { return compute::Mlx::Context().device; }

formats::WeightLayouts MlxWeightLayouts() { return compute::kMatmulLayoutsOf<compute::Mlx>; }

Result<std::unique_ptr<Engine>> CreateMlxEngine(model::ModelConfig config,
                                                std::shared_ptr<const model::ModelSource> source,
                                                const EngineOptions& options) {
  return WithoutExceptions("loading on MLX", [&] {
    auto context = std::make_unique<compute::Mlx::Context>();
    context->requantise = options.mlx_requantise;
    return CreateNativeEngine<compute::Mlx>(std::move(context), std::move(config), std::move(source), options);
  });
}

}  // namespace inferflux::engine
