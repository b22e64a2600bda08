// The MoE models of Qwen3.5 and Qwen3.6 (Qwen, 2026): Qwen3.5's layers with many small experts beside a shared one.
#include <string_view>

#include "model/families/family.h"
#include "model/families/hybrid/qwen3_5.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kQwen35MoeKeys = R"({
  "read": {"vocab_size": 248320, "hidden_size": 2048, "num_hidden_layers": 40, "num_attention_heads": 16,
    "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 32768, "rms_norm_eps": 1e-06,
    "tie_word_embeddings": false, "head_dim": 256, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
    "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "num_experts_per_tok": 8,
    "num_experts": 256, "layer_types": null, "full_attention_interval": 4, "rope_theta": 10000.0,
    "partial_rotary_factor": 0.25, "rope_parameters": null, "rope_scaling": null,
    "rope_parameters.mrope_section": null},
  "only": {"attention_bias": [false], "attn_output_gate": [true], "output_gate_type": ["swish", "silu"],
    "mlp_only_layers": [[], null], "decoder_sparse_step": [1], "norm_topk_prob": [true]},
  "unused": ["text_config", "vision_config", "intermediate_size", "mamba_ssm_dtype", "mtp_num_hidden_layers",
    "mtp_use_dedicated_embeddings", "rope_parameters.mrope_interleaved"]
})";

Status PrepareQwen35Moe(formats::HfConfig& config) {
  config.norm_topk_prob = true;
  return PrepareQwen35(config);
}

}  // namespace

const Family& Qwen35Moe() {
  static const Family family{.architecture = "qwen35moe",
                             .read = ReadQwen35,
                             .checkpoints = {{.model_types = {"qwen3_5_moe_text", "qwen3_5_moe"},
                                              .keys = kQwen35MoeKeys,
                                              .tensors = {kDeltaNetNorms, kTiledDeltaNet, kGatedSharedExpert,
                                                          kFusedExpertTensors, kExpertTensors, kDecoderTensors},
                                              .prefixes = kQwen35Prefixes,
                                              .ignored = kNotQwen35Text,
                                              .prepare = PrepareQwen35Moe}}};
  return family;
}

}  // namespace inferflux::model
