// What the families with attention over latents have in common in their config.json.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "model/families/checkpoint.h"

namespace inferflux::model {

// Sets the latents' sizes and the layers without experts. kUnsupported for KV heads that are not as many as heads, and
// for scalings of RoPE whose share in the scale of attention GGUF cannot express.
Status PrepareLatents(formats::HfConfig& config);

// The same with experts that are scored by sigmoids.
Status PrepareSigmoidLatents(formats::HfConfig& config);

// The checkpoints of a family with latents and an indexer.
Checkpoint SparseCheckpoint(std::string_view model_type, std::string_view keys);

}  // namespace inferflux::model
