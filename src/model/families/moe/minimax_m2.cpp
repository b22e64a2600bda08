// MiniMax-M2 (MiniMax, 2025): norms over the whole width of q and of k, a part of each head rotates; experts scored by
// sigmoids and chosen with biases.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kMiniMaxM2Keys = R"({
  "read": {"vocab_size": 200064, "hidden_size": 3072, "intermediate_size": 1536, "num_hidden_layers": 62,
    "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu",
    "max_position_embeddings": 196608, "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "num_experts_per_tok": 8,
    "num_local_experts": 256, "rotary_dim": null, "rope_theta": 5000000.0, "partial_rotary_factor": null,
    "rope_parameters": null, "rope_scaling": null},
  "only": {"use_qk_norm": [true], "qk_norm_type": ["per_layer"], "scoring_func": ["sigmoid"],
    "use_routing_bias": [true], "shared_intermediate_size": [0], "postnorm": [false], "attention_bias": [false],
    "layernorm_full_attention_beta": [1.0], "layernorm_linear_attention_beta": [1.0], "layernorm_mlp_beta": [1.0]},
  "unused": ["attn_type_list", "attn_window_size", "max_model_len", "mlp_intermediate_size", "mtp_transformer_layers",
    "num_mtp_modules", "shared_moe_mode", "use_mtp", "dense_intermediate_size"],
  "names": {"num_experts": "num_local_experts"}
})";

Status PrepareMiniMaxM2(formats::HfConfig& config) {
  const auto rotated = config.raw.Find<double>("rotary_dim");
  if (!rotated) return Forward(rotated);
  if (*rotated) SetDefault(config.partial_rotary_factor, **rotated / config.head_dim);
  SetDefault(config.norm_topk_prob, true);
  config.expert_gating = formats::HfExpertGating::kSigmoid;
  return {};
}

Result<ModelConfig> ReadMiniMaxM2(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(
      source, context,
      {.qk_norm = QkNorm::kWhole, .moe = {.routing = {.normalise = true, .score = compute::ExpertScore::kSigmoid}}});
}

}  // namespace

const Family& MiniMaxM2() {
  static const Family family{
      .architecture = "minimax-m2",
      .read = ReadMiniMaxM2,
      .checkpoints = {{.model_types = {"minimax_m2"},
                       .keys = kMiniMaxM2Keys,
                       .own_tensors = {{"layers.*.block_sparse_moe.e_score_correction_bias", "blk.*.exp_probs_b.bias",
                                        TensorChange::kNone, /*whole=*/true, /*complete=*/true}},
                       .tensors = {kMixtralTensors, kQkNormTensors, kExpertTensors, kDecoderTensors},
                       .prepare = PrepareMiniMaxM2}}};
  return family;
}

}  // namespace inferflux::model
