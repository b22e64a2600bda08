// ERNIE 4.5 with experts (Baidu, 2025): chosen by probabilities with biases, normalised, beside shared experts; the
// first layers are dense.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status PrepareErnieMoe(formats::HfConfig& config) {
  SetDefault(config.rope_theta, 500000.0);
  SetDefault(config.shared_experts, 2u);
  SetDefault(config.leading_dense_layers, 1u);
  const auto last = config.raw.GetOr<int64_t>("moe_layer_end_index", -1);
  if (!last) return Forward(last);
  if (*last != -1 && *last != int64_t{config.layers} - 1) {
    return Fail(ErrorCode::kUnsupported, "{}: moe_layer_end_index is {}; only the last layer, {}, is supported",
                config.raw.source(), *last, config.layers - 1);
  }
  return {};
}

Result<ModelConfig> ReadErnieMoe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(
      source, context,
      {.rope_style = compute::RopeStyle::kInterleaved, .moe = {.shared_gate = false, .routing = {.normalise = true}}});
}

}  // namespace

const Family& Ernie45Moe() {
  static const Family family{
      .architecture = "ernie4_5-moe",
      .read = ReadErnieMoe,
      .checkpoints = {{.model_types = {"ernie4_5_moe"},
                       .own_tensors = {{"layers.*.mlp.moe_statics.e_score_correction_bias", "blk.*.exp_probs_b.bias",
                                        TensorChange::kNone, /*whole=*/true, /*complete=*/true}},
                       .tensors = {kSharedExpertTensors, kExpertTensors, kDecoderTensors},
                       .ignored = {"*.rotary_emb.inv_freq", "mtp_*"},
                       .counts = {{"moe_layer_interval", "interleave_moe_layer_step"}},
                       .prepare = PrepareErnieMoe}}};
  return family;
}

}  // namespace inferflux::model
