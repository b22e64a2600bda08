// The engine on the CPU backend with a timer around each operation.
#pragma once

#include <memory>

#include "apps/inferflux_bench/profile.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "engine/engine.h"
#include "engine/native/engine_options.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::apps {

// Writes to `profile`. `profile` and `pool` must outlive the engine.
Result<std::unique_ptr<engine::Engine>> CreateProfiledEngine(ThreadPool& pool, Profile& profile,
                                                             model::ModelConfig config,
                                                             std::shared_ptr<const model::ModelSource> source,
                                                             const engine::EngineOptions& options);

}  // namespace inferflux::apps
