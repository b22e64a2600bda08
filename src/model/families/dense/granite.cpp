// Granite 3 (IBM, 2024): Llama's layer with fixed multipliers on the embedding, the scores, the residuals and the
// logits. The logits are divided by the file's logit scale.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGraniteKeys = R"({
  "read": {"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false, "mlp_bias": false,
    "embedding_multiplier": 1.0, "logits_scaling": 1.0, "residual_multiplier": 1.0, "attention_multiplier": 1.0,
    "head_dim": null, "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]}
})";

Result<ModelConfig> ReadGranite(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context, {.rope_style = compute::RopeStyle::kInterleaved});
  if (!config) return config;
  const auto divisor = ReadNumber(source, config->architecture + ".logit_scale", 1.0f, 1e-6f, 1e6f);
  if (!divisor) return Forward(divisor);
  config->logit_scale = 1.0f / *divisor;
  return config;
}

}  // namespace

const Family& Granite() {
  static const Family family{
      .architecture = "granite",
      .read = ReadGranite,
      .checkpoints = {{.model_types = {"granite"},
                       .keys = kGraniteKeys,
                       .tensors = {kInterleavedTensors, kDecoderTensors},
                       .numbers = {{"attention_multiplier", "attention.scale"},
                                   {"embedding_multiplier", "embedding_scale"},
                                   {"residual_multiplier", "residual_scale"},
                                   {"logits_scaling", "logit_scale"}}}},
      .tokenizers = {.turn_markers = {"<|start_of_role|>", "<|end_of_role|>"}, .generation_ends = {"<|end_of_text|>"}}};
  return family;
}

}  // namespace inferflux::model
