#include "model/families/checkpoint.h"

namespace inferflux::model {
namespace {

constexpr TensorName kDecoderNames[] = {
    {"embed_tokens", "token_embd"},
    {"norm", "output_norm"},
    {"lm_head", "output"},
    {"layers.*.input_layernorm", "blk.*.attn_norm"},
    {"layers.*.self_attn.q_proj", "blk.*.attn_q"},
    {"layers.*.self_attn.k_proj", "blk.*.attn_k"},
    {"layers.*.self_attn.v_proj", "blk.*.attn_v"},
    {"layers.*.self_attn.o_proj", "blk.*.attn_output"},
    {"layers.*.post_attention_layernorm", "blk.*.ffn_norm"},
    {"layers.*.mlp.gate_proj", "blk.*.ffn_gate"},
    {"layers.*.mlp.up_proj", "blk.*.ffn_up"},
    {"layers.*.mlp.down_proj", "blk.*.ffn_down"},
};

constexpr TensorName kInterleavedNames[] = {
    {"layers.*.self_attn.q_proj", "blk.*.attn_q", TensorChange::kInterleaveRows},
    {"layers.*.self_attn.k_proj", "blk.*.attn_k", TensorChange::kInterleaveRows},
};

constexpr TensorName kQkNormNames[] = {
    {"layers.*.self_attn.q_norm", "blk.*.attn_q_norm"},
    {"layers.*.self_attn.k_norm", "blk.*.attn_k_norm"},
};

constexpr TensorName kExpertNames[] = {
    {"layers.*.mlp.gate", "blk.*.ffn_gate_inp"},
    {"layers.*.mlp.experts.*.gate_proj", "blk.*.ffn_gate_exps"},
    {"layers.*.mlp.experts.*.up_proj", "blk.*.ffn_up_exps"},
    {"layers.*.mlp.experts.*.down_proj", "blk.*.ffn_down_exps"},
    {"layers.*.mlp.switch_mlp.gate_proj", "blk.*.ffn_gate_exps"},
    {"layers.*.mlp.switch_mlp.up_proj", "blk.*.ffn_up_exps"},
    {"layers.*.mlp.switch_mlp.down_proj", "blk.*.ffn_down_exps"},
};

constexpr TensorName kSharedExpertNames[] = {
    {"layers.*.mlp.shared_experts.gate_proj", "blk.*.ffn_gate_shexp"},
    {"layers.*.mlp.shared_experts.up_proj", "blk.*.ffn_up_shexp"},
    {"layers.*.mlp.shared_experts.down_proj", "blk.*.ffn_down_shexp"},
};

constexpr TensorName kMixtralNames[] = {
    {"layers.*.block_sparse_moe.gate", "blk.*.ffn_gate_inp"},
    {"layers.*.block_sparse_moe.experts.*.w1", "blk.*.ffn_gate_exps"},
    {"layers.*.block_sparse_moe.experts.*.w3", "blk.*.ffn_up_exps"},
    {"layers.*.block_sparse_moe.experts.*.w2", "blk.*.ffn_down_exps"},
    {"layers.*.block_sparse_moe.switch_mlp.gate_proj", "blk.*.ffn_gate_exps"},
    {"layers.*.block_sparse_moe.switch_mlp.up_proj", "blk.*.ffn_up_exps"},
    {"layers.*.block_sparse_moe.switch_mlp.down_proj", "blk.*.ffn_down_exps"},
};

}  // namespace

constinit const std::span<const TensorName> kDecoderTensors = kDecoderNames;
constinit const std::span<const TensorName> kInterleavedTensors = kInterleavedNames;
constinit const std::span<const TensorName> kQkNormTensors = kQkNormNames;
constinit const std::span<const TensorName> kExpertTensors = kExpertNames;
constinit const std::span<const TensorName> kSharedExpertTensors = kSharedExpertNames;
constinit const std::span<const TensorName> kMixtralTensors = kMixtralNames;

bool MatchesName(std::string_view pattern, std::string_view name) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

}  // namespace inferflux::model
