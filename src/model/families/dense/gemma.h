// What Gemma 2 and 3 share.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "model/families/checkpoint.h"
#include "model/families/common.h"
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

// Of model_type gemma3_text, decoders and encoders.
inline constexpr std::string_view kGemma3Keys = R"({
  "read": {"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "attention_bias": false,
    "query_pre_attn_scalar": 256, "sliding_window": 4096, "layer_types": null, "final_logit_softcapping": null,
    "attn_logit_softcapping": null, "use_bidirectional_attention": false, "sliding_window_pattern": 6,
    "rope_local_base_freq": 10000.0, "rope_theta": 1000000.0, "rope_parameters": null, "rope_scaling": null,
    "rope_parameters.full_attention": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "unused": ["hidden_act"],
  "nullable": ["sliding_window", "use_bidirectional_attention"]
})";

// The embedding is scaled by sqrt(hidden). Attention scores are scaled by query_pre_attn_scalar. Only the 27B models
// derive it from a width other than head_dim; if the file does not give the scale, they are recognised by their number
// of layers.
inline void ApplyGemmaScales(const ModelSource& source, int32_t layers_of_27b, ModelConfig* config) {
  config->embedding_scale = std::sqrt(static_cast<float>(config->hidden));
  if (config->layers == layers_of_27b && !source.metadata().Contains(config->architecture + ".attention.scale")) {
    config->attention_scale = 1.0f / std::sqrt(static_cast<float>(config->hidden / config->heads));
  }
}

// Gemma 3, or EmbeddingGemma, which is the same without causal attention.
inline Result<ModelConfig> ReadWindowedGemma(const ModelSource& source, int32_t context, bool causal) {
  ModelConfig family{
      .causal = causal, .output_norms = true, .qk_norm = QkNorm::kHead, .activation = compute::Activation::kGeluTanh};
  auto config = ReadDecoderConfig(source, context, std::move(family), 6);
  if (!config) return config;
  ApplyGemmaScales(source, 62, &*config);
  if (auto rope = ReadWindowRope(source, 10000.0f, 6, &*config); !rope) return Forward(rope);
  return config;
}

}  // namespace inferflux::model
