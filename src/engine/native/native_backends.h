// The compute backends of this build, and an engine on each of them. The list is made of the rows in
// cmake/InferfluxBackends.cmake.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "engine/engine.h"
#include "engine/native/engine_options.h"
#include "formats/weight_layout/weight_layout.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::engine {

struct NativeBackend {
  std::string_view name;           // its folder under src/compute/
  formats::WeightLayouts layouts;  // of a checkpoint, that it holds as they are
  std::string (*note)();           // what people should know of this build of it; empty: nothing
  // Asks the devices: may take a while.
  std::vector<compute::Device> (*devices)(const compute::ContextOptions& options);
  // To be called on the thread that will step the engine: some devices' streams belong to a thread.
  Result<std::unique_ptr<Engine>> (*create)(model::ModelConfig config, std::shared_ptr<const model::ModelSource> source,
                                            const EngineOptions& options);
};

std::span<const NativeBackend> NativeBackends();

const NativeBackend* FindNativeBackend(std::string_view name);  // null where this build has none of that name

// kUnsupported, with those that there are, where this build has none of that name.
Result<std::unique_ptr<Engine>> CreateEngine(std::string_view backend, model::ModelConfig config,
                                             std::shared_ptr<const model::ModelSource> source,
                                             const EngineOptions& options);

}  // namespace inferflux::engine
