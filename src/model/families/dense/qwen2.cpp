// Qwen2 and Qwen2.5 (arXiv:2407.10671): Llama's layer with biases on q, k and v.
#include "model/families/common.h"
#include "model/families/dense/qwen_windows.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kQwen2Keys = R"({
  "read": {"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu", "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "use_sliding_window": false, "sliding_window": 4096,
    "max_window_layers": 28, "layer_types": null, "head_dim": null, "rope_theta": 10000.0, "rope_parameters": null,
    "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "nullable": ["num_key_value_heads", "sliding_window"]
})";

Result<ModelConfig> ReadQwen2(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qkv_bias = true});
}

}  // namespace

const Family& Qwen2() {
  static const Family family{
      .architecture = "qwen2",
      .read = ReadQwen2,
      .checkpoints = {{.model_types = {"qwen2"}, .keys = kQwen2Keys, .prepare = PrepareLateWindows}},
      .tokenizers = {.pre_tokenizers = {{{"qwen2"}, {words::kCl100kOneDigit, /*nfc=*/true}}},
                     .turn_markers = {"<|im_start|>", "<|im_end|>", "<|endoftext|>"},
                     .generation_ends = {"<|im_end|>", "<|endoftext|>"}}};
  return family;
}

}  // namespace inferflux::model
