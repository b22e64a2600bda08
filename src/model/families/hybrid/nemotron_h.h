// What the Nemotron-H models share.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "model/families/hybrid/state_space.h"

namespace inferflux::model {

inline constexpr TensorName kNemotronTensors[] = {
    {"layers.*.mixer.q_proj", "blk.*.attn_q"},  {"layers.*.mixer.k_proj", "blk.*.attn_k"},
    {"layers.*.mixer.v_proj", "blk.*.attn_v"},  {"layers.*.mixer.o_proj", "blk.*.attn_output"},
    {"layers.*.mixer.up_proj", "blk.*.ffn_up"}, {"layers.*.mixer.down_proj", "blk.*.ffn_down"},
};
inline const std::vector<std::string_view> kNemotronPrefixes{"model.backbone.", "backbone.", "model."};
inline const std::vector<std::string_view> kNotNemotronText{"*.rotary_emb.inv_freq", "mtp.*"};

// transformers' class also bounds the steps from below by time_step_min, which is there for training (0.001 in
// published files). GGUF does not store such a bound, so it is not applied, as in llama.cpp.
inline constexpr std::string_view kNemotronKeys = R"({
  "read": {"vocab_size": 131072, "hidden_size": 4096, "num_hidden_layers": null, "layers_block_type": null,
    "hybrid_override_pattern": null, "tie_word_embeddings": false, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 4096, "intermediate_size": 21504,
    "mlp_bias": false, "ssm_state_size": 128, "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8,
    "conv_kernel": 4, "time_step_limit": [0.0, {"__float__": "Infinity"}], "use_conv_bias": true, "use_bias": false,
    "n_routed_experts": 8, "n_shared_experts": 1, "moe_intermediate_size": 7688,
    "moe_shared_expert_intermediate_size": 7688, "moe_latent_size": null, "num_experts_per_tok": 2,
    "routed_scaling_factor": 1.0, "n_group": 1, "topk_group": 1, "norm_topk_prob": true,
    "layer_norm_epsilon": 1e-05},
  "only": {"mlp_hidden_act": ["relu2"], "mamba_hidden_act": ["silu"], "attention_bias": [false],
    "mamba_proj_bias": [false], "sliding_window": [null]},
  "unused": ["chunk_size", "expand", "mamba_ssm_cache_dtype", "moe_shared_expert_overlap", "mtp_layers_block_type",
    "mtp_hybrid_override_pattern", "norm_eps", "num_logits_to_keep", "num_nextn_predict_layers",
    "partial_rotary_factor", "rescale_prenorm_residual", "residual_in_fp32", "rms_norm_eps", "rope_parameters",
    "rope_scaling", "rope_theta", "time_step_floor", "time_step_max", "time_step_min", "time_step_rank",
    "use_mamba_kernels", "mamba_chunk_size", "mamba_dt_init_floor", "mamba_dt_max", "mamba_dt_min", "mamba_expand"],
  "names": {"layer_types": "layers_block_type", "num_local_experts": "n_routed_experts",
    "attention_head_dim": "head_dim", "mamba_n_groups": "n_groups", "mamba_d_conv": "conv_kernel",
    "mamba_dt_limit": "time_step_limit", "mamba_conv_bias": "use_conv_bias"},
  "nullable": ["num_key_value_heads"]
})";

// Whether some layers have experts.
Result<bool> HasNemotronExperts(const formats::JsonObject& root);
// `network`: the name of the layers with a feed-forward network, of that width.
Status PrepareNemotron(formats::HfConfig& config, std::string_view network, uint32_t width);
Result<ModelConfig> ReadNemotron(const ModelSource& source, int32_t context, ModelConfig family);

}  // namespace inferflux::model
