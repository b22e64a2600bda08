// What an Engine is a handle of.
#pragma once

#include <inferflux/engine.h>

#include <memory>

#include "serving/models/served_model.h"

namespace inferflux::embedded {

class Runtime;

struct LoadedModelState {
  std::shared_ptr<Runtime> runtime;  // destroyed after the model, which computes on its threads; null in tests
  std::shared_ptr<const serving::ServedModel> model;
  LoadOptions options;  // the context is the one that the engine has
  ModelInfo info;
};

// The state of a model that was loaded with these options.
std::shared_ptr<LoadedModelState> DescribeLoaded(std::shared_ptr<Runtime> runtime,
                                                 std::shared_ptr<const serving::ServedModel> model,
                                                 LoadOptions options);

}  // namespace inferflux::embedded
