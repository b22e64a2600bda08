// LFM2-8B-A1B and its kin (Liquid AI, 2025): LFM2's layers; after the first ones, experts scored by sigmoids and chosen
// with biases.
#include "model/families/family.h"
#include "model/families/hybrid/lfm2.h"

namespace inferflux::model {
namespace {

Status PrepareLfm2Moe(formats::HfConfig& config) {
  const auto dense = config.raw.GetOr<uint32_t>("num_dense_layers", 2);
  if (!dense) return Forward(dense);
  config.leading_dense_layers = *dense;
  SetDefault(config.norm_topk_prob, true);
  config.expert_gating = formats::HfExpertGating::kSigmoid;
  return PrepareLfm2(config);
}

Result<ModelConfig> ReadLfm2Moe(const ModelSource& source, int32_t context) {
  return ReadLfm2(source, context, {.moe = {.routing = {.normalise = true, .score = compute::ExpertScore::kSigmoid}}});
}

}  // namespace

const Family& Lfm2Moe() {
  static const Family family{
      .architecture = "lfm2moe",
      .read = ReadLfm2Moe,
      .checkpoints = {{.model_types = {"lfm2_moe"},
                       .own_tensors = {{"layers.*.feed_forward.w1", "blk.*.ffn_gate"},
                                       {"layers.*.feed_forward.w3", "blk.*.ffn_up"},
                                       {"layers.*.feed_forward.w2", "blk.*.ffn_down"},
                                       {"layers.*.feed_forward.gate", "blk.*.ffn_gate_inp"},
                                       {"layers.*.feed_forward.experts.*.w1", "blk.*.ffn_gate_exps"},
                                       {"layers.*.feed_forward.experts.*.w3", "blk.*.ffn_up_exps"},
                                       {"layers.*.feed_forward.experts.*.w2", "blk.*.ffn_down_exps"},
                                       {"layers.*.feed_forward.expert_bias", "blk.*.exp_probs_b.bias",
                                        TensorChange::kNone, /*whole=*/true, /*complete=*/true}},
                       .tensors = {kLfm2Tensors, kDecoderTensors},
                       .counts = {{"conv_L_cache", "shortconv.l_cache"}},
                       .prepare = PrepareLfm2Moe}}};
  return family;
}

}  // namespace inferflux::model
