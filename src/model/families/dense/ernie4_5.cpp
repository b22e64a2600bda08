// ERNIE 4.5 (Baidu, 2025): Llama's layer; neighbouring dimensions rotate.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kErnieKeys = R"({
  "read": {"vocab_size": 103424, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 18,
    "num_attention_heads": 16, "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": true, "use_bias": false, "head_dim": 128, "rope_theta": 500000.0,
    "rope_parameters": null, "rope_scaling": null},
  "only": {"compression_ratio": [1.0], "partial_rotary_factor": [null, 1.0]},
  "nullable": ["num_key_value_heads", "use_bias", "head_dim"]
})";

Result<ModelConfig> ReadErnie(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.rope_style = compute::RopeStyle::kInterleaved});
}

}  // namespace

const Family& Ernie45() {
  static const Family family{.architecture = "ernie4_5",
                             .read = ReadErnie,
                             .checkpoints = {{.model_types = {"ernie4_5"}, .keys = kErnieKeys}}};
  return family;
}

}  // namespace inferflux::model
