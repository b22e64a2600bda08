// The worker programs: which one runs an engine, and how its settings are passed to it.
#pragma once

#include <string>
#include <vector>

#include "config/backend_config.h"
#include "serving/backends/backend_factory.h"
#include "serving/models/load_model.h"

namespace inferflux::worker {

// "cpu", "mlx", "llama": the end of the program's name. Empty if no program runs the engine.
std::string ProgramSuffix(serving::Target target, serving::Provider provider);

// The folder of this program.
std::string OwnDirectory();

// The file of a program: `name` if it has a slash, otherwise where $PATH has it; `name` if that has none.
std::string FindProgram(const std::string& name);

// INFERFLUX_MODELS for the worker: the model with its own settings, as JSON, which is YAML too. `engine_request` has
// the settings that hold for the engine.
std::string ModelSettingFor(const serving::EngineEntry& engine, const serving::EngineRequest& engine_request,
                            const serving::LoadRequest& request);

// The flags for the settings that hold for all models.
std::vector<std::string> FlagsFor(const serving::LoadRequest& request, const std::string& worker_id);

}  // namespace inferflux::worker
