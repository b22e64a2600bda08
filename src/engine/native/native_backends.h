// The compute backends of this build, and engines on them. The rows in cmake/InferfluxBackends.cmake generate the list.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "compute/device_features.h"
#include "engine/engine.h"
#include "engine/native/engine_options.h"
#include "formats/weight_layout/weight_layout.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::engine {

struct NativeBackend {
  std::string_view name;           // its folder under src/compute/
  formats::WeightLayouts layouts;  // checkpoint layouts that it holds without conversion
  std::string (*note)();           // a note on this build of it, for users; empty: none
  // Why this machine cannot run it at all, such as a missing driver; empty: nothing is known to be missing.
  std::string (*unavailable)();
  // Queries the devices; may be slow.
  std::vector<compute::Device> (*devices)(const compute::ContextOptions& options);
  // Multiplies small integers on the device and compares the products: an error says what it computed instead.
  Status (*self_test)(const compute::ContextOptions& options);
  // Measures the device for about so many seconds; null: the backend cannot.
  Result<compute::DeviceRates> (*rates)(const compute::ContextOptions& options, double seconds);
  // Call it on the thread that will step the engine: some devices' streams belong to a thread.
  Result<std::unique_ptr<Engine>> (*create)(model::ModelConfig config, std::shared_ptr<const model::ModelSource> source,
                                            const EngineOptions& options);
  // Runs a rank other than 0 of a model that several share, until rank 0 ends it (options.ranks).
  Status (*follow)(model::ModelConfig config, std::shared_ptr<const model::ModelSource> source,
                   const EngineOptions& options);
};

std::span<const NativeBackend> NativeBackends();

const NativeBackend* FindNativeBackend(std::string_view name);  // null if this build has no backend of that name

// kUnsupported, with the list of known names, if this build has no backend of that name.
Result<std::unique_ptr<Engine>> CreateEngine(std::string_view backend, model::ModelConfig config,
                                             std::shared_ptr<const model::ModelSource> source,
                                             const EngineOptions& options);

}  // namespace inferflux::engine
