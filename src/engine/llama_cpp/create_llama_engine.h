// The engine on libllama: any model that it knows, on any device that it was built for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/inference_backend.h"
#include "engine/llama_cpp/llama_options.h"
#include "model/model_source.h"

namespace inferflux::engine {

// The kinds of devices that the library can compute on, as LlamaOptions::target names them, from its own list.
std::vector<std::string> LlamaTargets();

// The library reads the source's file by itself. kUnsupported where that is no GGUF file or holds no decoder;
// kInvalidArgument names the option that cannot be; else the library's own last complaint.
Result<std::unique_ptr<InferenceBackend>> CreateLlamaEngine(const model::ModelSource& source,
                                                            const LlamaOptions& options);

}  // namespace inferflux::engine
