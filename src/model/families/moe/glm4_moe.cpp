// GLM-4.5, 4.6 and 4.7 (arXiv:2508.06471): half of each head rotates; the first layers are dense, the others have
// experts that are scored by sigmoids and chosen with biases, and a shared expert. Norms on the heads of q and k in the
// largest.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status PrepareGlm4Moe(formats::HfConfig& config) {
  SetDefault(config.partial_rotary_factor, 0.5);
  SetDefault(config.shared_experts, 1u);
  SetDefault(config.leading_dense_layers, 1u);
  SetDefault(config.norm_topk_prob, true);
  config.expert_gating = formats::HfExpertGating::kSigmoid;
  return {};
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
  static const Family family{
      .architecture = "glm4moe",
      .read = ReadGlm4Moe,
      .checkpoints = {{.model_types = {"glm4_moe"},
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
                                       {"layers.*.mlp.gate.e_score_correction_bias", "blk.*.exp_probs_b.bias",
                                        TensorChange::kNone, /*whole=*/true, /*complete=*/true}},
                       .tensors = {kQkNormTensors, kSharedExpertTensors, kExpertTensors, kDecoderTensors},
                       .predicting_layers = true,
                       .prepare = PrepareGlm4Moe}}};
  return family;
}

}  // namespace inferflux::model
