// What the models with gated DeltaNet share (arXiv:2412.06464): Qwen3-Next, Qwen3.5 and Qwen3.6.
#pragma once

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "model/families/checkpoint.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// GGUF stores the weights of these norms with 1 added, and calls the norm before the feed-forward network
// post_attention_norm.
inline constexpr TensorName kDeltaNetNorms[] = {
    {"norm", "output_norm", TensorChange::kAddOne},
    {"layers.*.input_layernorm", "blk.*.attn_norm", TensorChange::kAddOne},
    {"layers.*.post_attention_layernorm", "blk.*.post_attention_norm", TensorChange::kAddOne},
    {"layers.*.self_attn.q_norm", "blk.*.attn_q_norm", TensorChange::kAddOne},
    {"layers.*.self_attn.k_norm", "blk.*.attn_k_norm", TensorChange::kAddOne},
    {"layers.*.linear_attn.norm", "blk.*.ssm_norm"},
};

// A shared expert with a gate of its own.
inline constexpr TensorName kGatedSharedExpert[] = {
    {"layers.*.mlp.shared_expert.gate_proj", "blk.*.ffn_gate_shexp"},
    {"layers.*.mlp.shared_expert.up_proj", "blk.*.ffn_up_shexp"},
    {"layers.*.mlp.shared_expert.down_proj", "blk.*.ffn_down_shexp"},
    {"layers.*.mlp.shared_expert_gate", "blk.*.ffn_gate_inp_shexp"},
};

// Fills in transformers' defaults, and sets GGUF's sizes and the recurrent layers.
Status PrepareDeltaNet(formats::HfConfig& config);

// `family`: what differs from Qwen3-Next's layers.
Result<ModelConfig> ReadDeltaNetModel(const ModelSource& source, int32_t context, ModelConfig family);

}  // namespace inferflux::model
