// What Gemma 2 and 3 share.
#pragma once

#include <cmath>
#include <cstdint>

#include "model/families/checkpoint.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Checkpoints hold the norms' weights less 1.
inline constexpr TensorName kGemmaNorms[] = {
    {"norm", "output_norm", TensorChange::kAddOne},
    {"layers.*.input_layernorm", "blk.*.attn_norm", TensorChange::kAddOne},
    {"layers.*.self_attn.q_norm", "blk.*.attn_q_norm", TensorChange::kAddOne},
    {"layers.*.self_attn.k_norm", "blk.*.attn_k_norm", TensorChange::kAddOne},
    {"layers.*.post_attention_layernorm", "blk.*.post_attention_norm", TensorChange::kAddOne},
    {"layers.*.pre_feedforward_layernorm", "blk.*.ffn_norm", TensorChange::kAddOne},
    {"layers.*.post_feedforward_layernorm", "blk.*.post_ffw_norm", TensorChange::kAddOne},
};

// The embedding is scaled by sqrt(hidden). Scores are scaled by the query's own scalar, which only the largest sizes
// (27B, known by their number of layers where the file does not say it) take from another width than the head's.
inline void ApplyGemmaScales(const ModelSource& source, int32_t layers_of_27b, ModelConfig* config) {
  config->embedding_scale = std::sqrt(static_cast<float>(config->hidden));
  if (config->layers == layers_of_27b && !source.metadata().Contains(config->architecture + ".attention.scale")) {
    config->attention_scale = 1.0f / std::sqrt(static_cast<float>(config->hidden / config->heads));
  }
}

}  // namespace inferflux::model
