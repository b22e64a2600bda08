// GLM-4.5, 4.6 and 4.7 (arXiv:2508.06471): half of each head rotates; the first layers are dense, the others have
// experts that are scored by sigmoids and chosen with biases, and a shared expert. Norms on the heads of q and k in the
// largest. The text of GLM-4.5V (arXiv:2507.01006) is the same.
#include <utility>
#include <vector>

#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/vision/rope_sections.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGlm4MoeKeys = R"({
  "read": {"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
    "num_attention_heads": 96, "num_key_value_heads": 8, "hidden_act": "silu", "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false, "moe_intermediate_size": 1408,
    "num_experts_per_tok": 8, "n_shared_experts": 1, "n_routed_experts": 128, "routed_scaling_factor": 1.0,
    "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "norm_topk_prob": true, "use_qk_norm": false,
    "head_dim": null, "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "rope_parameters": null,
    "rope_scaling": null},
  "unused": ["num_mtp_layers", "num_nextn_predict_layers"],
  "names": {"num_local_experts": "n_routed_experts"}
})";

constexpr std::string_view kGlm4vMoeKeys = R"({
  "read": {"vocab_size": 151424, "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
    "num_attention_heads": 96, "num_key_value_heads": 8, "hidden_act": "silu", "max_position_embeddings": 65536,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": true, "moe_intermediate_size": 1408,
    "num_experts_per_tok": 8, "n_shared_experts": 1, "n_routed_experts": 128, "routed_scaling_factor": 1.0,
    "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "norm_topk_prob": true, "head_dim": null,
    "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "rope_parameters": null, "rope_scaling": null,
    "rope_parameters.mrope_section": null},
  "only": {"use_qk_norm": [false]},
  "unused": ["num_mtp_layers", "num_nextn_predict_layers"],
  "names": {"num_local_experts": "n_routed_experts"}
})";

Status PrepareGlm4Moe(formats::HfConfig& config) {
  config.expert_gating = formats::HfExpertGating::kSigmoid;
  return {};
}

Status PrepareGlm4vMoe(formats::HfConfig& config) {
  if (auto read = ReadRopeSections(config, {8, 12, 12}); !read) return read;
  return PrepareGlm4Moe(config);
}

Result<ModelConfig> ReadGlm4Moe(const ModelSource& source, int32_t context) {
  const bool norms = source.Find("blk.0.attn_q_norm.weight") != nullptr;
  return ReadDecoderConfig(
      source, context,
      {.feed_forward_norm = "post_attention_norm",
       .qk_norm = norms ? QkNorm::kHead : QkNorm::kNone,
       .moe = {.shared_gate = false, .routing = {.normalise = true, .score = compute::ExpertScore::kSigmoid}}});
}

}  // namespace

const Family& Glm4Moe() {
  static const Family family = [] {
    const Checkpoint plain{.model_types = {"glm4_moe"},
                           .keys = kGlm4MoeKeys,
                           .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
                                           {"layers.*.mlp.gate.e_score_correction_bias", "blk.*.exp_probs_b.bias",
                                            TensorChange::kNone, /*whole=*/true, /*complete=*/true}},
                           .tensors = {kQkNormTensors, kSharedExpertTensors, kExpertTensors, kDecoderTensors},
                           .predicting_layers = true,
                           .prepare = PrepareGlm4Moe};
    Checkpoint beside_images = plain;
    beside_images.model_types = {"glm4v_moe_text"};
    beside_images.keys = kGlm4vMoeKeys;
    beside_images.prepare = PrepareGlm4vMoe;
    return Family{.architecture = "glm4moe", .read = ReadGlm4Moe, .checkpoints = {plain, std::move(beside_images)}};
  }();
  return family;
}

}  // namespace inferflux::model
