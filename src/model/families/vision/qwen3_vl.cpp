// The text of Qwen3-VL (arXiv:2511.21631): Qwen3's, with sections of RoPE.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/vision/rope_sections.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kQwen3VlKeys = R"({
  "read": {"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "hidden_act": "silu",
    "max_position_embeddings": 128000, "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false,
    "rope_theta": 500000.0, "rope_parameters": null, "rope_scaling": null, "rope_parameters.mrope_section": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "unused": ["rope_parameters.mrope_interleaved"],
  "nullable": ["num_key_value_heads"]
})";

Status PrepareQwen3Vl(formats::HfConfig& config) { return ReadRopeSections(config, {24, 20, 20}); }

Result<ModelConfig> ReadQwen3Vl(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead});
}

}  // namespace

const Family& Qwen3Vl() {
  static const Family family{.architecture = "qwen3vl",
                             .read = ReadQwen3Vl,
                             .checkpoints = {{.model_types = {"qwen3_vl_text"},
                                              .keys = kQwen3VlKeys,
                                              .tensors = {kQkNormTensors, kDecoderTensors},
                                              .prepare = PrepareQwen3Vl}}};
  return family;
}

}  // namespace inferflux::model
