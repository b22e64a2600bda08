#include "model/families/config_names.h"

#include <string>
#include <utility>

namespace inferflux::model {
namespace {

// GGUF's key without the architecture, and config.json's. Longer keys precede those that they begin with.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.key_length_mla", "qk_nope_head_dim + qk_rope_head_dim"},
    {"attention.value_length_mla", "v_head_dim"},
    {"attention.kv_lora_rank", "kv_lora_rank"},
    {"attention.q_lora_rank", "q_lora_rank"},
    {"attention.indexer.head_count", "index_n_heads"},
    {"attention.indexer.key_length", "index_head_dim"},
    {"attention.indexer.top_k", "index_topk"},
    {"attention.key_length", "head_dim"},
    {"attention.value_length", "head_dim"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"attention.layer_norm_epsilon", "layer_norm_eps"},
    {"attention.sliding_window_pattern", "layer_types"},
    {"attention.sliding_window", "sliding_window"},
    {"attention.scale", "the scale of attention's scores"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"embedding_scale", "embedding_multiplier"},
    {"residual_scale", "residual_multiplier"},
    {"logit_scale", "the scale of the logits"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"feed_forward_length", "intermediate_size"},
    {"expert_shared_count", "the number of shared experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_count", "num_experts"},
    {"expert_weights_scale", "routed_scaling_factor"},
    {"expert_group_used_count", "topk_group"},
    {"expert_group_count", "n_group"},
    {"leading_dense_block_count", "the number of first layers without experts"},
    {"rope.dimension_count", "the rotated part of a head (head_dim * partial_rotary_factor)"},
    {"rope.freq_base_swa", "the rope_theta of layers with a window"},
    {"rope.freq_base", "rope_theta"},
    {"rope.scaling.original_context_length", "original_max_position_embeddings"},
    {"rope.scaling.factor", "RoPE's factor"},
    {"rope.scaling.dynamic_factor", "RoPE's factor"},
    {"rope.scaling.yarn_beta_fast", "RoPE's beta_fast"},
    {"rope.scaling.yarn_beta_slow", "RoPE's beta_slow"},
    {"rope.scaling.yarn_attn_factor", "RoPE's attention_factor"},
    {"rope.scaling.attn_factor", "RoPE's attention_factor"},
    {"shortconv.l_cache", "conv_L_cache"},
    {"ssm.conv_kernel", "linear_conv_kernel_dim"},
    {"ssm.state_size", "linear_key_head_dim"},
    {"ssm.group_count", "linear_num_key_heads"},
    {"ssm.time_step_rank", "linear_num_value_heads"},
    {"ssm.inner_size", "linear_num_value_heads * linear_value_head_dim"},
};

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

Error InConfigJson(Error error, std::string_view architecture) {
  for (const auto& [gguf, own] : kNames) {
    ReplaceAll(error.message, std::string(architecture) + "." + std::string(gguf), own);
  }
  return error;
}

}  // namespace inferflux::model
