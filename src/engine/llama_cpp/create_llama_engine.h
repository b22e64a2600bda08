// The engine on libllama: any model that the library supports, on any device that it was built for.
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
// The devices of one kind.
std::vector<compute::Device> LlamaDeviceList(std::string_view target);

// Multiplies small integers on a device of the target, and compares the products. -1: its first device.
Status LlamaSelfTest(std::string_view target, int32_t device);

// The library reads the source's file itself. kUnsupported if that is not a GGUF file, or has a kind of model that is
// not supported; kInvalidArgument names an option that is not valid; otherwise the error is the library's last message.
Result<std::unique_ptr<Engine>> CreateLlamaEngine(const model::ModelSource& source, const LlamaOptions& options);

}  // namespace inferflux::engine
