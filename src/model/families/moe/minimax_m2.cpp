// MiniMax-M2 (MiniMax, 2025): norms over the whole width of q and of k, a part of each head rotates; experts scored by
// sigmoids and chosen with biases.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status PrepareMiniMaxM2(formats::HfConfig& config) {
  SetDefaultHeadDim(config, 128);
  SetDefault(config.rope_theta, 5e6);
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
                       .own_tensors = {{"layers.*.block_sparse_moe.e_score_correction_bias", "blk.*.exp_probs_b.bias",
                                        TensorChange::kNone, /*whole=*/true, /*complete=*/true}},
                       .tensors = {kMixtralTensors, kQkNormTensors, kExpertTensors, kDecoderTensors},
                       .prepare = PrepareMiniMaxM2}}};
  return family;
}

}  // namespace inferflux::model
