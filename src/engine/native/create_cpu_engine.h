// The engine on the CPU backend: vector kernels of the best instruction set there is, on a thread pool that is lent to
// it.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/thread_pool.h"
#include "engine/engine.h"
#include "engine/native/engine_options.h"
#include "formats/weight_layout/weight_layout.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::engine {

// The forms that it holds as a directory has them.
formats::WeightLayouts CpuWeightLayouts();

// `pool` must outlive the engine. An INFERFLUX_CPU_ISA that this machine or build lacks is an error.
Result<std::unique_ptr<Engine>> CreateCpuEngine(ThreadPool& pool, model::ModelConfig config,
                                                std::shared_ptr<const model::ModelSource> source,
                                                const EngineOptions& options);

}  // namespace inferflux::engine
