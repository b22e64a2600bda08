// Hunyuan-A13B (Tencent, 2025): Hunyuan's attention; experts with normalised probabilities beside a shared one.
#include "model/families/common.h"
#include "model/families/dense/hunyuan.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kHunyuanMoeKeys = R"({
  "read": {"vocab_size": 290943, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false, "num_experts": 1, "moe_topk": 1,
    "head_dim": null, "moe_intermediate_size": null, "num_shared_expert": null, "rope_theta": 10000.0,
    "rope_parameters": null, "rope_scaling": null},
  "only": {"use_qk_norm": [true], "use_cla": [false], "use_mla": [false], "mlp_bias": [false], "norm_type": ["rms"],
    "use_rotary_pos_emb": [true], "add_classification_head": [false], "position_embedding_xdrope": [false],
    "use_mixed_mlp_moe": [true], "moe_layer_num_skipped": [0], "routed_scaling_factor": [1.0],
    "group_limited_greedy": [false], "norm_topk_prob": [true],
    "partial_rotary_factor": [null, 1.0]},
  "unused": ["attention_head_dim", "cla_share_factor", "class_num", "dense_list", "eod_token_id", "im_start_id",
    "im_end_id", "im_newline_id", "mask_init_id", "num_media_embeds", "org_vocab_size", "pool_type", "text_start_id",
    "text_end_id", "video_start_id", "video_end_id", "sep_token_id", "skip_cls_token", "anyres_pooling_size",
    "anyres_vit_max_image_size", "anyres_vit_two_views", "vit_add_patchemb_bias", "vit_input_resolution",
    "vit_mapping_type", "vit_norm_type", "vit_patch", "vit_path", "vit_remove_prenorm", "vit_token", "vit_type",
    "vit_used_rms_norm", "xdrope_section", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
    "v_head_dim", "moe_drop_tokens", "moe_random_routing_dropped_token", "capacity_factor", "n_group", "topk_group",
    "unpad_inputs"],
  "names": {"num_experts_per_tok": "moe_topk", "num_local_experts": "num_experts"}
})";

Status PrepareHunyuanMoe(formats::HfConfig& config) {
  if (auto prepared = PrepareHunyuan(config); !prepared) return prepared;
  // One number, or a list of one for each layer.
  if (const auto* shared = config.raw.FindValue("num_shared_expert"); shared != nullptr) {
    auto each = shared->is_array() ? config.raw.Get<std::vector<uint32_t>>("num_shared_expert")
                                   : config.raw.Get<uint32_t>("num_shared_expert").map([](uint32_t number) {
                                       return std::vector<uint32_t>{number};
                                     });
    if (!each) return Forward(each);
    for (const uint32_t number : *each) {
      if (number == 1) continue;
      return Fail(ErrorCode::kUnsupported, "{}: num_shared_expert has {}; only 1 is supported", config.raw.source(),
                  number);
    }
  }
  config.shared_expert_intermediate_size = config.intermediate_size;
  return {};
}

Result<ModelConfig> ReadHunyuanMoe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.qk_norm = QkNorm::kHead,
                            .qk_norm_after_rope = true,
                            .moe = {.shared_gate = false, .routing = {.normalise = true}}});
}

}  // namespace

const Family& HunyuanMoe() {
  static const Family family{
      .architecture = "hunyuan-moe",
      .read = ReadHunyuanMoe,
      .checkpoints = {{.model_types = {"hunyuan_v1_moe"},
                       .keys = kHunyuanMoeKeys,
                       .own_tensors = {{"layers.*.mlp.gate.wg", "blk.*.ffn_gate_inp"},
                                       {"layers.*.mlp.shared_mlp.gate_proj", "blk.*.ffn_gate_shexp"},
                                       {"layers.*.mlp.shared_mlp.up_proj", "blk.*.ffn_up_shexp"},
                                       {"layers.*.mlp.shared_mlp.down_proj", "blk.*.ffn_down_shexp"}},
                       .tensors = {kHunyuanNorms, kExpertTensors, kDecoderTensors},
                       .prepare = PrepareHunyuanMoe}}};
  return family;
}

}  // namespace inferflux::model
