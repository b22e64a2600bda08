// Loads the model at a path, ready to step. An error comes from its source, its configuration or its weights.
#pragma once

#include <string>

#include "model/families/family.h"
#include "model/model_runner.h"

namespace inferflux::model::testing {

template <class B>
Result<ModelRunner<B, compute::KvFp32>> LoadRunner(typename B::Context& context, const std::string& path) {
  const auto source = ModelSource::Open(path);
  if (!source) return Forward(source);
  const auto config = ReadModelConfig(**source);
  if (!config) return Forward(config);
  return ModelRunner<B, compute::KvFp32>::Load(context, *config, *source, 1, 16);
}

}  // namespace inferflux::model::testing
