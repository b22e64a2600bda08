// EXAONE 4 (arXiv:2507.11407): norms after each sub-layer instead of before it, and on the heads of q and k. In the
// large model three layers with a window, which rotate, alternate with one of full attention, which does not.
#include <string>

#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kExaone4Keys = R"({
  "read": {"vocab_size": 102400, "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "sliding_window": 4096, "sliding_window_pattern": 4,
    "layer_types": null, "head_dim": null, "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "unused": ["layer_norm_epsilon"],
  "nullable": ["sliding_window", "sliding_window_pattern"]
})";

// Old files give the kinds of layers as letters, which repeat: "LLLG" is three local ones and a global one.
Status PrepareExaone4(formats::HfConfig& config) {
  const auto* pattern = config.raw.FindValue("sliding_window_pattern");
  if (config.sliding_window && config.layer_types.empty() && pattern != nullptr && pattern->is_string()) {
    const auto letters = config.raw.Get<std::string>("sliding_window_pattern");
    if (!letters) return Forward(letters);
    if (letters->empty()) {
      return Fail(ErrorCode::kDataLoss, "{}: sliding_window_pattern is empty", config.raw.source());
    }
    for (uint32_t i = 0; i < config.layers; ++i) {
      config.layer_types.push_back((*letters)[i % letters->size()] == 'L' ? "sliding_attention" : "full_attention");
    }
  }
  return {};
}

Result<ModelConfig> ReadExaone4(const ModelSource& source, int32_t context) {
  auto config =
      ReadDecoderConfig(source, context, {.input_norms = false, .output_norms = true, .qk_norm = QkNorm::kHead}, 4);
  if (!config || !source.metadata().Contains(config->architecture + ".attention.sliding_window")) return config;
  if (auto read = RotateWindowedLayersOnly(source, 4, &*config); !read) return Forward(read);
  return config;
}

}  // namespace

const Family& Exaone4() {
  static const Family family{
      .architecture = "exaone4",
      .read = ReadExaone4,
      .checkpoints = {{.model_types = {"exaone4"},
                       .keys = kExaone4Keys,
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
                                       {"layers.*.post_feedforward_layernorm", "blk.*.post_ffw_norm"}},
                       .tensors = {kQkNormTensors, kDecoderTensors},
                       .prepare = PrepareExaone4}}};
  return family;
}

}  // namespace inferflux::model
