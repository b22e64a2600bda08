// SmolLM3 (Hugging Face, 2025): Llama's layer; every fourth layer does not rotate (NoPE, arXiv:2501.18795).
#include <vector>

#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kSmolLm3Keys = R"({
  "read": {"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
    "num_attention_heads": 16, "num_key_value_heads": 4, "hidden_act": "silu", "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-06, "use_sliding_window": false, "sliding_window": null, "no_rope_layers": null,
    "no_rope_layer_interval": 4, "layer_types": null, "attention_bias": false, "mlp_bias": false,
    "tie_word_embeddings": true, "head_dim": null, "rope_theta": 2000000.0, "rope_parameters": null,
    "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "unused": ["max_window_layers"],
  "nullable": ["num_key_value_heads"]
})";

// 0 for the layers that do not rotate; if config.json lists none, every so many.
Result<std::vector<int64_t>> RotatedLayers(const formats::HfConfig& config) {
  auto listed = config.raw.Find<std::vector<int64_t>>("no_rope_layers");
  if (!listed) return Forward(listed);
  if (*listed) return std::move(**listed);
  const auto interval = config.raw.Get<uint32_t>("no_rope_layer_interval");
  if (!interval) return Forward(interval);
  if (*interval == 0) return Fail(ErrorCode::kDataLoss, "{}: no_rope_layer_interval is 0", config.raw.source());
  std::vector<int64_t> rotated;
  for (uint32_t i = 0; i < config.layers; ++i) rotated.push_back((i + 1) % *interval != 0);
  return rotated;
}

// GGUF does not store which layers do not rotate, so only the known pattern is accepted. With use_sliding_window these
// layers have the window.
Status PrepareSmolLm3(formats::HfConfig& config) {
  const auto rotated = RotatedLayers(config);
  if (!rotated) return Forward(rotated);
  if (rotated->size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: no_rope_layers has {} entries for {} layers", config.raw.source(),
                rotated->size(), config.layers);
  }
  for (size_t i = 0; i < rotated->size(); ++i) {
    if (((*rotated)[i] != 0) == ((i + 1) % 4 != 0)) continue;
    return Fail(
        ErrorCode::kUnsupported,
        "{}: by no_rope_layers or no_rope_layer_interval, layer {} {}; only models of whose layers every fourth "
        "does not rotate are supported",
        config.raw.source(), i, (*rotated)[i] != 0 ? "rotates" : "does not rotate");
  }
  if (!config.use_sliding_window.value_or(false)) config.sliding_window.reset();
  if (!config.sliding_window || !config.layer_types.empty()) return {};
  for (const int64_t rotates : *rotated) {
    config.layer_types.push_back(rotates != 0 ? "full_attention" : "sliding_attention");
  }
  return {};
}

Result<ModelConfig> ReadSmolLm3(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context, {.rope_style = compute::RopeStyle::kInterleaved});
  if (!config) return config;
  for (int32_t i = 3; i < config->layers; i += 4) config->layer_kinds[i].rope = kNoRope;
  return config;
}

}  // namespace

const Family& SmolLm3() {
  static const Family family{.architecture = "smollm3",
                             .read = ReadSmolLm3,
                             .checkpoints = {{.model_types = {"smollm3"},
                                              .keys = kSmolLm3Keys,
                                              .tensors = {kInterleavedTensors, kDecoderTensors},
                                              .prepare = PrepareSmolLm3}}};
  return family;
}

}  // namespace inferflux::model
