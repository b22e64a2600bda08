// The engine on the CPU backend: vector kernels of the best instruction set there is, on a thread pool that is lent to
// it.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/thread_pool.h"
#include "engine/inference_backend.h"
#include "engine/native/engine_options.h"
#include "formats/stored_form.h"
#include "model/model_config.h"
#include "model/model_source.h"

namespace inferflux::engine {

// The forms that it holds as a directory has them.
formats::StoredForms CpuForms();

// `pool` must outlive the engine. An INFERFLUX_CPU_ISA that this machine cannot run is an error.
Result<std::unique_ptr<InferenceBackend>> CreateCpuEngine(ThreadPool& pool, model::ModelConfig config,
                                                          std::shared_ptr<const model::ModelSource> source,
                                                          const EngineOptions& options);

}  // namespace inferflux::engine
