// OLMo 2 (arXiv:2501.00656): norms after each sub-layer instead of before it, and over the whole width of q and of k.
// OLMo 3 uses the same architecture name: three windowed layers, which rotate without YaRN, alternate with one layer of
// full attention.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kOlmo2Keys = R"({
  "read": {"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
    "tie_word_embeddings": false, "attention_bias": false, "rms_norm_eps": 1e-05, "head_dim": null,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]}
})";

constexpr std::string_view kOlmo3Keys = R"({
  "read": {"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
    "tie_word_embeddings": false, "attention_bias": false, "rms_norm_eps": 1e-05, "sliding_window": 4096,
    "layer_types": null, "head_dim": null, "rope_theta": 500000.0, "rope_parameters": null, "rope_scaling": null,
    "rope_parameters.full_attention": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "nullable": ["sliding_window"]
})";

constexpr TensorName kOlmoNorms[] = {
    {"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
    {"layers.*.post_feedforward_layernorm", "blk.*.post_ffw_norm"},
};

// Without parameters by kind of layer, all layers rotate with one base.
Status PrepareOlmo3(formats::HfConfig& config) {
  if (!config.local_rope_theta) config.local_rope_theta = config.rope_theta;
  return {};
}

Result<ModelConfig> ReadOlmo2(const ModelSource& source, int32_t context) {
  auto config =
      ReadDecoderConfig(source, context, {.input_norms = false, .output_norms = true, .qk_norm = QkNorm::kWhole}, 4);
  if (!config) return config;
  const auto base = ReadNumber(source, config->architecture + ".rope.freq_base", 10000.0f, 1.001f, 1e9f);
  if (!base) return Forward(base);
  if (auto rope = ReadWindowRope(source, *base, 4, &*config); !rope) return Forward(rope);
  return config;
}

}  // namespace

const Family& Olmo2() {
  static const Family family{
      .architecture = "olmo2",
      .read = ReadOlmo2,
      .checkpoints = {
          {.model_types = {"olmo2"}, .keys = kOlmo2Keys, .tensors = {kOlmoNorms, kQkNormTensors, kDecoderTensors}},
          {.model_types = {"olmo3"},
           .keys = kOlmo3Keys,
           .tensors = {kOlmoNorms, kQkNormTensors, kDecoderTensors},
           .prepare = PrepareOlmo3}}};
  return family;
}

}  // namespace inferflux::model
