// How a model's file says that hidden states are pooled.
#pragma once

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Sets config.pooling by ARCHITECTURE.pooling_type, with the numbers that llama.cpp gives its kinds. Where the file
// says none, a decoder's text is its last token's state, and an encoder's the mean of all. A model that ranks makes no
// embeddings.
Status ReadPooling(const ModelSource& source, ModelConfig* config);

}  // namespace inferflux::model
