// Reads how a model's file says that hidden states are pooled.
#pragma once

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Sets config.pooling from ARCHITECTURE.pooling_type, with llama.cpp's numbers for the kinds. If the file has no such
// key, a decoder uses the last token's state and an encoder the mean of all. Also reads the head: a ranking model makes
// scores in place of an embedding.
Status ReadPooling(const ModelSource& source, ModelConfig* config);

}  // namespace inferflux::model
