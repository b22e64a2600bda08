// LFM2-8B-A1B and its kin (Liquid AI, 2025): LFM2's layers; after the first ones, experts scored by sigmoids and chosen
// with biases.
#include "model/families/family.h"
#include "model/families/hybrid/lfm2.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kLfm2MoeKeys = R"({
  "read": {"vocab_size": 65536, "hidden_size": 2048, "intermediate_size": 7168, "moe_intermediate_size": 1792,
    "num_hidden_layers": 32, "tie_word_embeddings": true, "max_position_embeddings": 128000, "norm_eps": 1e-05,
    "num_attention_heads": 32, "num_key_value_heads": 8, "conv_bias": false, "conv_L_cache": 3, "num_dense_layers": 2,
    "num_experts_per_tok": 4, "num_experts": 32, "routed_scaling_factor": 1.0, "norm_topk_prob": true,
    "layer_types": null, "tie_embedding": null, "head_dim": null, "rope_theta": 1000000.0, "rope_parameters": null,
    "rope_scaling": null},
  "only": {"use_expert_bias": [true], "partial_rotary_factor": [null, 1.0]},
  "unused": ["block_dim", "conv_dim", "num_heads", "theta", "conv_use_xavier_init"]
})";

Status PrepareLfm2Moe(formats::HfConfig& config) {
  const auto dense = config.raw.Get<uint32_t>("num_dense_layers");
  if (!dense) return Forward(dense);
  config.leading_dense_layers = *dense;
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
                       .keys = kLfm2MoeKeys,
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
