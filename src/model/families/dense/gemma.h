// What Gemma 2 and 3 share.
#pragma once

#include <cmath>
#include <cstdint>

#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// The embedding is scaled by sqrt(hidden). Scores are scaled by the query's own scalar, which only the largest sizes
// (27B, known by their number of layers where the file does not say it) take from another width than the head's.
inline void ApplyGemmaScales(const ModelSource& source, int32_t layers_of_27b, ModelConfig* config) {
  config->embedding_scale = std::sqrt(static_cast<float>(config->hidden));
  if (config->layers == layers_of_27b && !source.metadata().Contains(config->architecture + ".attention.scale")) {
    config->attention_scale = 1.0f / std::sqrt(static_cast<float>(config->hidden / config->heads));
  }
}

}  // namespace inferflux::model
