#include "engine/native/create_reference_engine.h"

#include "compute/reference/kv_pieces.h"
#include "compute/reference/reference_backend.h"
#include "engine/native/native_engine.h"

namespace inferflux::engine {

Result<std::unique_ptr<Engine>> CreateReferenceEngine(model::ModelConfig config,
                                                      std::shared_ptr<const model::ModelSource> source,
                                                      const EngineOptions& options) {
  return CreateNativeEngine<compute::Reference>(std::make_unique<compute::Reference::Context>(), std::move(config),
                                                std::move(source), options);
}

}  // namespace inferflux::engine
