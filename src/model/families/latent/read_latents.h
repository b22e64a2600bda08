// The keys of attention over latents, and of an indexer, as llama.cpp's converter writes them.
#pragma once

#include <string>

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Sets ModelConfig::latent, head_dim and attention_scale. kUnsupported for a file that has keys and values instead of
// latents.
Status ReadLatents(const ModelSource& source, const std::string& prefix, ModelConfig* config);

// A decoder with latents, experts that are scored by sigmoids, and an indexer (attention.indexer.*) in some of its
// layers. `style`: how the indexer's heads rotate.
Result<ModelConfig> ReadSparseDecoder(const ModelSource& source, int32_t context, compute::RopeStyle style);

}  // namespace inferflux::model
