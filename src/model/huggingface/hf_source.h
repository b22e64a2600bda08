// A Hugging Face directory (config.json, safetensors, tokenizer.json) as a model source: its metadata under GGUF's
// keys, its tensors under GGUF's names.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "model/loading/model_source.h"

namespace inferflux::model {

// Tensors are mapped if the checkpoint stores them as GGUF files do, and otherwise made in memory on request.
Result<std::shared_ptr<const ModelSource>> OpenHuggingFace(const std::string& directory);

}  // namespace inferflux::model
