// DeepSeek V2 (arXiv:2405.04434), V3 and R1 (arXiv:2412.19437), Kimi K2 and GLM-4.7-Flash: attention over latents, and
// experts beside shared ones after the first layers. V2 scores experts by probabilities, the others by sigmoids, and
// chooses them with biases.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/latent/prepare_latents.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kV2Keys = R"({
  "read": {"vocab_size": 102400, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false, "first_k_dense_replace": 0,
    "kv_lora_rank": 512, "q_lora_rank": 1536, "n_group": null, "n_routed_experts": 64, "n_shared_experts": 2,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "routed_scaling_factor": 1.0, "topk_group": null,
    "topk_method": "greedy", "v_head_dim": 128, "num_experts_per_tok": null, "moe_intermediate_size": 1407,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"moe_layer_freq": [1], "scoring_func": ["softmax"], "norm_topk_prob": [false, null], "mlp_bias": [false]},
  "unused": ["head_dim", "qk_head_dim", "pretraining_tp", "output_router_logits", "aux_loss_alpha", "seq_aux", "ep_size"],
  "names": {"num_experts": "n_routed_experts"},
  "nullable": ["q_lora_rank"]
})";

constexpr std::string_view kV3Keys = R"({
  "read": {"vocab_size": 129280, "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "n_shared_experts": 1,
    "n_routed_experts": 256, "routed_scaling_factor": 2.5, "kv_lora_rank": 512, "q_lora_rank": 1536,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128, "n_group": 8, "topk_group": 4,
    "num_experts_per_tok": 8, "first_k_dense_replace": 3, "norm_topk_prob": true, "hidden_act": "silu",
    "max_position_embeddings": 4096, "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"rope_interleave": [true], "moe_layer_freq": [1], "scoring_func": ["sigmoid"], "topk_method": ["noaux_tc"]},
  "unused": ["head_dim", "qk_head_dim", "pretraining_tp", "output_router_logits", "num_nextn_predict_layers",
    "num_mtp_layers", "aux_loss_alpha", "seq_aux", "ep_size"],
  "names": {"num_local_experts": "n_routed_experts"},
  "nullable": ["num_key_value_heads", "q_lora_rank"]
})";

constexpr std::string_view kGlmLiteKeys = R"({
  "read": {"vocab_size": 154880, "hidden_size": 2048, "intermediate_size": 10240, "moe_intermediate_size": 1536,
    "num_hidden_layers": 47, "num_attention_heads": 20, "num_key_value_heads": 20, "n_shared_experts": 1,
    "n_routed_experts": 64, "routed_scaling_factor": 1.8, "kv_lora_rank": 512, "q_lora_rank": 768,
    "qk_rope_head_dim": 64, "v_head_dim": 256, "qk_nope_head_dim": 192, "n_group": 1, "topk_group": 1,
    "num_experts_per_tok": 4, "norm_topk_prob": true, "hidden_act": "silu", "max_position_embeddings": 202752,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "mlp_layer_types": null, "attention_bias": false,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"rope_interleave": [true], "partial_rotary_factor": [1.0, null], "topk_method": ["noaux_tc"],
    "scoring_func": ["sigmoid"], "first_k_dense_replace": [1]},
  "unused": ["qk_head_dim", "pretraining_tp", "output_router_logits", "num_nextn_predict_layers"],
  "names": {"num_local_experts": "n_routed_experts", "head_dim": "qk_rope_head_dim"},
  "nullable": ["q_lora_rank"]
})";

Status PrepareV2(formats::HfConfig& config) {
  const auto method = config.raw.Get<std::string>("topk_method");
  if (!method) return Forward(method);
  if (*method != "greedy" && *method != "group_limited_greedy") {
    return Fail(ErrorCode::kUnsupported, "{}: topk_method is '{}'; supported are greedy and group_limited_greedy",
                config.raw.source(), *method);
  }
  if (*method == "greedy") config.expert_groups = config.expert_groups_used = std::nullopt;
  config.expert_gating = formats::HfExpertGating::kSoftmax;
  config.norm_topk_prob = false;
  return PrepareLatents(config);
}

Status PrepareGlmLite(formats::HfConfig& config) {
  config.leading_dense_layers = 1;
  return PrepareSigmoidLatents(config);
}

Result<ModelConfig> ReadDeepseek2(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(
      source, context,
      {.rope_style = compute::RopeStyle::kInterleaved, .latent = LatentConfig{}, .moe = {.shared_gate = false}});
  // V2's groups are as good as their best expert.
  if (config && config->moe.routing.score == compute::ExpertScore::kSoftmax) config->moe.routing.group_scores = 1;
  return config;
}

}  // namespace

const Family& Deepseek2() {
  static const std::vector<std::span<const TensorName>> tensors = {kLatentTensors, kSharedExpertTensors, kExpertTensors,
                                                                   kFusedExpertTensors, kDecoderTensors};
  static const Family family{.architecture = "deepseek2",
                             .read = ReadDeepseek2,
                             .checkpoints = {{.model_types = {"deepseek_v2"},
                                              .keys = kV2Keys,
                                              .tensors = tensors,
                                              .counts = {{"q_lora_rank", "attention.q_lora_rank"}},
                                              .prepare = PrepareV2},
                                             {.model_types = {"deepseek_v3", "kimi_k2"},
                                              .keys = kV3Keys,
                                              .tensors = tensors,
                                              .predicting_layers = true,
                                              .counts = {{"q_lora_rank", "attention.q_lora_rank"}},
                                              .prepare = PrepareSigmoidLatents},
                                             {.model_types = {"glm4_moe_lite"},
                                              .keys = kGlmLiteKeys,
                                              .tensors = tensors,
                                              .predicting_layers = true,
                                              .counts = {{"q_lora_rank", "attention.q_lora_rank"}},
                                              .prepare = PrepareGlmLite}}};
  return family;
}

}  // namespace inferflux::model
