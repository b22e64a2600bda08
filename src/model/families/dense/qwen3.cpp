// Qwen3 (arXiv:2505.09388): no biases, and each head of q and k is normalised before RoPE.
#include "model/families/common.h"
#include "model/families/dense/qwen_windows.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kQwen3Keys = R"({
  "read": {"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "hidden_act": "silu",
    "max_position_embeddings": 32768, "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false,
    "use_sliding_window": false, "sliding_window": 4096, "max_window_layers": 28, "layer_types": null,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "nullable": ["num_key_value_heads", "sliding_window"]
})";

Result<ModelConfig> ReadQwen3(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead});
}

}  // namespace

const Family& Qwen3() {
  static const Family family{.architecture = "qwen3",
                             .read = ReadQwen3,
                             .checkpoints = {{.model_types = {"qwen3"},
                                              .keys = kQwen3Keys,
                                              .tensors = {kQkNormTensors, kDecoderTensors},
                                              .prepare = PrepareLateWindows}}};
  return family;
}

}  // namespace inferflux::model
