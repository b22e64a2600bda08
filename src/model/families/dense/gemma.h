// What Gemma 2 and 3 share.
#pragma once

#include <cmath>
#include <cstdint>

#include "model/families/checkpoint.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Checkpoints store the norms' weights minus 1.
inline constexpr TensorName kGemmaNorms[] = {
    {"norm", "output_norm", TensorChange::kAddOne},
    {"layers.*.input_layernorm", "blk.*.attn_norm", TensorChange::kAddOne},
    {"layers.*.self_attn.q_norm", "blk.*.attn_q_norm", TensorChange::kAddOne},
    {"layers.*.self_attn.k_norm", "blk.*.attn_k_norm", TensorChange::kAddOne},
    {"layers.*.post_attention_layernorm", "blk.*.post_attention_norm", TensorChange::kAddOne},
    {"layers.*.pre_feedforward_layernorm", "blk.*.ffn_norm", TensorChange::kAddOne},
    {"layers.*.post_feedforward_layernorm", "blk.*.post_ffw_norm", TensorChange::kAddOne},
};

// The embedding is scaled by sqrt(hidden). Attention scores are scaled by query_pre_attn_scalar. Only the 27B models
// derive it from a width other than head_dim; if the file does not give the scale, they are recognised by their number
// of layers.
inline void ApplyGemmaScales(const ModelSource& source, int32_t layers_of_27b, ModelConfig* config) {
  config->embedding_scale = std::sqrt(static_cast<float>(config->hidden));
  if (config->layers == layers_of_27b && !source.metadata().Contains(config->architecture + ".attention.scale")) {
    config->attention_scale = 1.0f / std::sqrt(static_cast<float>(config->hidden / config->heads));
  }
}

}  // namespace inferflux::model
