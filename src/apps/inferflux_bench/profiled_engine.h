// The engine on the CPU backend with a clock around each operation.
#pragma once

#include <memory>

#include "apps/inferflux_bench/profile.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "engine/inference_backend.h"
#include "engine/native/engine_options.h"
#include "model/model_config.h"
#include "model/model_source.h"

namespace inferflux::apps {

// Writes to `profile`, which must outlive the engine, as must `pool`.
Result<std::unique_ptr<engine::InferenceBackend>> CreateProfiledEngine(ThreadPool& pool, Profile& profile,
                                                                       model::ModelConfig config,
                                                                       std::shared_ptr<const model::ModelSource> source,
                                                                       const engine::EngineOptions& options);

}  // namespace inferflux::apps
