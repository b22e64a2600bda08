// Qwen3-Next (Qwen, 2025): gated DeltaNet in three of four layers, attention whose result is gated in the fourth, with
// norms on the heads of q and k and a quarter of each head rotated; many small experts beside a shared one.
#include <string_view>
#include <vector>

#include "model/families/config_settings.h"
#include "model/families/family.h"
#include "model/families/hybrid/delta_net.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kQwen3NextKeys = R"({
  "read": {"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 48,
    "num_attention_heads": 16, "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "head_dim": 256, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32, "decoder_sparse_step": 1, "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512, "num_experts_per_tok": 10, "num_experts": 512, "norm_topk_prob": true,
    "mlp_only_layers": null, "layer_types": null, "full_attention_interval": 4, "rope_theta": 10000.0,
    "partial_rotary_factor": 0.25, "rope_parameters": null, "rope_scaling": null},
  "only": {"attention_bias": [false], "use_sliding_window": [false], "attn_output_gate": [true]},
  "unused": ["max_window_layers"]
})";

}  // namespace

const Family& Qwen3Next() {
  static const Family family{
      .architecture = "qwen3next",
      .read = [](const ModelSource& source, int32_t context) { return ReadDeltaNetModel(source, context, {}); },
      .checkpoints = {
          {.model_types = {"qwen3_next"},
           .keys = kQwen3NextKeys,
           .own_tensors = {{"layers.*.linear_attn.in_proj_qkvz", "blk.*.ssm_in"},
                           {"layers.*.linear_attn.in_proj_ba", "blk.*.ssm_ba"},
                           {"layers.*.linear_attn.conv1d", "blk.*.ssm_conv1d"},
                           {"layers.*.linear_attn.out_proj", "blk.*.ssm_out"},
                           {"layers.*.linear_attn.A_log", "blk.*.ssm_a", TensorChange::kNegatedExp, /*whole=*/true,
                            /*complete=*/true},
                           {"layers.*.linear_attn.dt_bias", "blk.*.ssm_dt.bias", TensorChange::kNone, /*whole=*/true,
                            /*complete=*/true}},
           .tensors = {kDeltaNetNorms, kGatedSharedExpert, kExpertTensors, kDecoderTensors},
           .ignored = {"*.rotary_emb.inv_freq", "mtp.*"},
           .prepare = PrepareDeltaNet}}};
  return family;
}

}  // namespace inferflux::model
