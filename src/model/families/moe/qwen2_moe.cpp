// Qwen1.5-MoE and Qwen2-MoE (arXiv:2407.10671): Qwen2's attention; routed experts, whose probabilities are not
// normalised, and a shared expert with its own gate.
#include "model/families/common.h"
#include "model/families/dense/qwen_windows.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kQwen2MoeKeys = R"({
  "read": {"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
    "num_attention_heads": 16, "num_key_value_heads": 16, "hidden_act": "silu", "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "use_sliding_window": false, "sliding_window": 4096,
    "max_window_layers": 28, "decoder_sparse_step": 1, "moe_intermediate_size": 1408,
    "shared_expert_intermediate_size": 5632, "num_experts_per_tok": 4, "num_experts": 60, "norm_topk_prob": false,
    "mlp_only_layers": null, "qkv_bias": true, "layer_types": null, "head_dim": null, "rope_theta": 10000.0,
    "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "nullable": ["num_key_value_heads", "sliding_window"]
})";

// Every other one of the first layers.
Status PrepareQwen2Moe(formats::HfConfig& config) {
  return PrepareQwenWindows(config, [](uint32_t layer, uint32_t limit) { return layer % 2 == 0 && layer < limit; });
}

Result<ModelConfig> ReadQwen2Moe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qkv_bias = source.Find("blk.0.attn_q.bias") != nullptr});
}

}  // namespace

const Family& Qwen2Moe() {
  static const Family family{
      .architecture = "qwen2moe",
      .read = ReadQwen2Moe,
      .checkpoints = {{.model_types = {"qwen2_moe"},
                       .keys = kQwen2MoeKeys,
                       .own_tensors = {{"layers.*.mlp.shared_expert.gate_proj", "blk.*.ffn_gate_shexp"},
                                       {"layers.*.mlp.shared_expert.up_proj", "blk.*.ffn_up_shexp"},
                                       {"layers.*.mlp.shared_expert.down_proj", "blk.*.ffn_down_shexp"},
                                       {"layers.*.mlp.shared_expert_gate", "blk.*.ffn_gate_inp_shexp"}},
                       .tensors = {kExpertTensors, kDecoderTensors},
                       .prepare = PrepareQwen2Moe}}};
  return family;
}

}  // namespace inferflux::model
