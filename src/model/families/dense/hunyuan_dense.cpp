// Hunyuan's dense models (Tencent, 2025): Llama's layer with norms on the heads of q and k after RoPE.
#include "model/families/common.h"
#include "model/families/dense/hunyuan.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kHunyuanDenseKeys = R"({
  "read": {"vocab_size": 290943, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false, "head_dim": null,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"use_qk_norm": [true], "use_cla": [false], "use_mla": [false], "mlp_bias": [false], "norm_type": ["rms"],
    "use_rotary_pos_emb": [true], "add_classification_head": [false], "position_embedding_xdrope": [false],
    "partial_rotary_factor": [null, 1.0]},
  "unused": ["attention_head_dim", "cla_share_factor", "class_num", "dense_list", "eod_token_id", "im_start_id",
    "im_end_id", "im_newline_id", "mask_init_id", "num_media_embeds", "org_vocab_size", "pool_type", "text_start_id",
    "text_end_id", "video_start_id", "video_end_id", "sep_token_id", "skip_cls_token", "anyres_pooling_size",
    "anyres_vit_max_image_size", "anyres_vit_two_views", "vit_add_patchemb_bias", "vit_input_resolution",
    "vit_mapping_type", "vit_norm_type", "vit_patch", "vit_path", "vit_remove_prenorm", "vit_token", "vit_type",
    "vit_used_rms_norm", "xdrope_section", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
    "v_head_dim"]
})";

Result<ModelConfig> ReadHunyuan(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead, .qk_norm_after_rope = true});
}

}  // namespace

const Family& HunyuanDense() {
  static const Family family{.architecture = "hunyuan-dense",
                             .read = ReadHunyuan,
                             .checkpoints = {{.model_types = {"hunyuan_v1_dense"},
                                              .keys = kHunyuanDenseKeys,
                                              .tensors = {kHunyuanNorms, kDecoderTensors},
                                              .prepare = PrepareHunyuan}}};
  return family;
}

}  // namespace inferflux::model
