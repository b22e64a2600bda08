// The text of Qwen2-VL and Qwen2.5-VL (arXiv:2409.12191, 2502.13923): Qwen2's, with sections of RoPE. Their first files
// keep the text's keys beside vision_config.
#include "model/families/common.h"
#include "model/families/dense/qwen_windows.h"
#include "model/families/family.h"
#include "model/families/vision/rope_sections.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kQwen2VlKeys = R"({
  "read": {"vocab_size": 152064, "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
    "num_attention_heads": 64, "num_key_value_heads": 8, "hidden_act": "silu", "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "use_sliding_window": false, "sliding_window": 4096,
    "max_window_layers": 80, "layer_types": null, "rope_theta": 1000000.0, "rope_parameters": null,
    "rope_scaling": null, "rope_parameters.mrope_section": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "unused": ["text_config", "vision_config", "image_token_id", "video_token_id", "vision_start_token_id",
    "vision_end_token_id", "vision_token_id"],
  "nullable": ["num_key_value_heads", "sliding_window"]
})";

Status PrepareQwen2Vl(formats::HfConfig& config) {
  if (auto prepared = PrepareLateWindows(config); !prepared) return prepared;
  return ReadRopeSections(config, {16, 24, 24});
}

Result<ModelConfig> ReadQwen2Vl(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qkv_bias = true});
}

}  // namespace

const Family& Qwen2Vl() {
  static const Family family{
      .architecture = "qwen2vl",
      .read = ReadQwen2Vl,
      .checkpoints = {{.model_types = {"qwen2_vl_text", "qwen2_5_vl_text", "qwen2_vl", "qwen2_5_vl"},
                       .keys = kQwen2VlKeys,
                       .prepare = PrepareQwen2Vl}}};
  return family;
}

}  // namespace inferflux::model
