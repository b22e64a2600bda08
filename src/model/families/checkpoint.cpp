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

constexpr TensorName kLatentNames[] = {
    {"layers.*.self_attn.q_a_proj", "blk.*.attn_q_a"},
    {"layers.*.self_attn.q_a_layernorm", "blk.*.attn_q_a_norm"},
    {"layers.*.self_attn.q_b_proj", "blk.*.attn_q_b"},
    {"layers.*.self_attn.kv_a_proj_with_mqa", "blk.*.attn_kv_a_mqa"},
    {"layers.*.self_attn.kv_a_layernorm", "blk.*.attn_kv_a_norm"},
    {"layers.*.self_attn.kv_b_proj", "blk.*.attn_k_b", TensorChange::kHeadKeys},
    {"layers.*.self_attn.indexer.wq_b", "blk.*.indexer.attn_q_b"},
    {"layers.*.self_attn.indexer.wk", "blk.*.indexer.attn_k"},
    {"layers.*.self_attn.indexer.k_norm", "blk.*.indexer.k_norm"},
    {"layers.*.self_attn.indexer.weights_proj", "blk.*.indexer.proj"},
    {"layers.*.mlp.gate.e_score_correction_bias", "blk.*.exp_probs_b.bias", TensorChange::kNone, /*whole=*/true,
     /*complete=*/true},
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

constexpr TensorName kFusedExpertNames[] = {
    {"layers.*.mlp.experts.gate_up_proj.gate", "blk.*.ffn_gate_exps"},
    {"layers.*.mlp.experts.gate_up_proj.up", "blk.*.ffn_up_exps"},
    {"layers.*.mlp.experts.down_proj.stack", "blk.*.ffn_down_exps"},
    {"layers.*.mlp.experts.gate_up_proj.gate_columns", "blk.*.ffn_gate_exps", TensorChange::kTransposeFirstHalf},
    {"layers.*.mlp.experts.gate_up_proj.up_columns", "blk.*.ffn_up_exps", TensorChange::kTransposeLastHalf},
    {"layers.*.mlp.experts.down_proj.stack_columns", "blk.*.ffn_down_exps", TensorChange::kTranspose},
};

constexpr TensorName kScoreNames[] = {{"score", "cls.output"}};

}  // namespace

constinit const std::span<const TensorName> kDecoderTensors = kDecoderNames;
constinit const std::span<const TensorName> kInterleavedTensors = kInterleavedNames;
constinit const std::span<const TensorName> kQkNormTensors = kQkNormNames;
constinit const std::span<const TensorName> kExpertTensors = kExpertNames;
constinit const std::span<const TensorName> kLatentTensors = kLatentNames;
constinit const std::span<const TensorName> kSharedExpertTensors = kSharedExpertNames;
constinit const std::span<const TensorName> kMixtralTensors = kMixtralNames;
constinit const std::span<const TensorName> kFusedExpertTensors = kFusedExpertNames;
constinit const std::span<const TensorName> kScoreTensors = kScoreNames;

bool MatchesName(std::string_view pattern, std::string_view name) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

}  // namespace inferflux::model
