// ERNIE 4.5 with experts (Baidu, 2025): chosen by probabilities with biases, normalised, beside shared experts; the
// first layers are dense.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kErnieMoeKeys = R"({
  "read": {"vocab_size": 103424, "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 28,
    "num_attention_heads": 20, "num_key_value_heads": 4, "hidden_act": "silu", "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": true, "use_bias": false, "moe_intermediate_size": 1536, "moe_k": 6,
    "moe_num_experts": 64, "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_end_index": -1,
    "moe_layer_interval": 1, "head_dim": null, "rope_theta": 500000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"moe_norm_min": [1e-12], "moe_gate": ["topk"], "moe_use_aux_free": [true],
    "partial_rotary_factor": [null, 1.0]},
  "unused": ["moe_capacity", "num_nextn_predict_layers"],
  "names": {"num_experts": "moe_num_experts", "num_experts_per_tok": "moe_k"},
  "nullable": ["num_key_value_heads", "use_bias", "moe_k", "moe_num_experts", "moe_num_shared_experts",
    "moe_layer_start_index", "moe_layer_end_index", "moe_layer_interval"]
})";

Status PrepareErnieMoe(formats::HfConfig& config) {
  const auto last = config.raw.Get<int64_t>("moe_layer_end_index");
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
                       .keys = kErnieMoeKeys,
                       .own_tensors = {{"layers.*.mlp.moe_statics.e_score_correction_bias", "blk.*.exp_probs_b.bias",
                                        TensorChange::kNone, /*whole=*/true, /*complete=*/true}},
                       .tensors = {kSharedExpertTensors, kExpertTensors, kDecoderTensors},
                       .ignored = {"*.rotary_emb.inv_freq", "mtp_*"},
                       .counts = {{"moe_layer_interval", "interleave_moe_layer_step"}},
                       .prepare = PrepareErnieMoe}}};
  return family;
}

}  // namespace inferflux::model
