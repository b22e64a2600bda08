// The engine on libllama: any model that it knows, on any device that it was built for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/device.h"
#include "engine/engine.h"
#include "engine/llama_cpp/llama_options.h"
#include "model/loading/model_source.h"

namespace inferflux::engine {

// The kinds of devices that the library can compute on, as LlamaOptions::target names them, from its own list.
std::vector<std::string> LlamaTargets();
// The devices of one of them.
std::vector<compute::Device> LlamaDeviceList(std::string_view target);

// The library reads the source's file by itself. kUnsupported where that is no GGUF file, or a model of a kind that is
// not served; kInvalidArgument names the option that cannot be; else the library's own last complaint.
Result<std::unique_ptr<Engine>> CreateLlamaEngine(const model::ModelSource& source, const LlamaOptions& options);

}  // namespace inferflux::engine
