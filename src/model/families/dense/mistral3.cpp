// Ministral 3 (Mistral AI, 2025): Llama's layer with YaRN, and queries that grow with their position.
#include <cmath>
#include <string>

#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kMinistral3Keys = R"({
  "read": {"vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 34,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu",
    "max_position_embeddings": 262144, "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "sliding_window": null,
    "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
      "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0, "mscale_all_dim": 1.0,
      "mscale": 1.0, "llama_4_scaling_beta": 0.1},
    "rope_theta": 1000000.0, "rope_scaling": null, "rope_parameters.llama_4_scaling_beta": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "unused": ["rope_parameters.max_position_embeddings", "layer_types"],
  "nullable": ["num_key_value_heads", "head_dim"]
})";

constexpr const char* kLength = "rope.scaling.original_context_length";
constexpr const char* kGrowth = "attention.temperature_scale";
constexpr const char* kLogMultiplier = "rope.scaling.yarn_log_multiplier";

Status PrepareMinistral3(formats::HfConfig& config) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto rope = config.raw.Find<formats::JsonObject>(key);
    if (!rope) return Forward(rope);
    if (!*rope || (*rope)->raw().empty()) continue;
    const auto growth = (*rope)->Find<double>("llama_4_scaling_beta");
    if (!growth) return Forward(growth);
    const bool known =
        config.rope_scaling && config.rope_scaling->type == "yarn" && config.rope_scaling->original_context;
    if (!*growth || !known) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: {} of model_type 'ministral3' needs the rope_type yarn, llama_4_scaling_beta and "
                  "original_max_position_embeddings",
                  config.raw.source(), key);
    }
    config.numbers[kGrowth] = **growth;
    config.numbers[kLogMultiplier] = config.rope_scaling->mscale_all_dim.value_or(0.0);
    break;
  }
  return {};
}

// llama.cpp's files have a multiplier in place of the factor: YaRN's scale is divided by that of the multiplier.
Status ReadMagnitude(const ModelSource& source, ModelConfig* config) {
  const std::string prefix = config->architecture + ".";
  if (!source.metadata().Contains(prefix + kLogMultiplier)) return {};
  if (source.metadata().Contains(prefix + "rope.scaling.yarn_attn_factor")) return {};
  const auto multiplier = ReadNumber(source, prefix + kLogMultiplier, 0.0f, 0.0f, 1e3f);
  if (!multiplier) return Forward(multiplier);
  const auto factor = ReadNumber(source, prefix + "rope.scaling.factor", 1.0f, 1e-3f, 1e6f);
  if (!factor) return Forward(factor);
  if (*multiplier == 0.0f || *factor <= 1.0f) return {};
  const double log = 0.1 * std::log(static_cast<double>(*factor));
  config->ropes[0].magnitude = static_cast<float>((log + 1.0) / (*multiplier * log + 1.0));
  return {};
}

Result<ModelConfig> ReadMistral3(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context, {.rope_style = compute::RopeStyle::kInterleaved});
  if (!config) return config;
  const std::string prefix = config->architecture + ".";
  const auto growth = ReadNumber(source, prefix + kGrowth, 0.0f, 0.0f, 1e3f);
  if (!growth) return Forward(growth);
  if (*growth > 0.0f) {
    constexpr int32_t kMaxLength = 1 << 30;
    QueryGrowth read{.growth = *growth};
    if (auto sizes = ReadSizes(source, prefix, {{kLength, &read.length, kMaxLength, true}}); !sizes)
      return Forward(sizes);
    config->query_growth = read;
  }
  if (auto read = ReadMagnitude(source, &*config); !read) return Forward(read);
  return config;
}

}  // namespace

const Family& Mistral3() {
  static const Family family{.architecture = "mistral3",
                             .read = ReadMistral3,
                             .checkpoints = {{.model_types = {"ministral3"},
                                              .keys = kMinistral3Keys,
                                              .tensors = {kInterleavedTensors, kDecoderTensors},
                                              .prepare = PrepareMinistral3}}};
  return family;
}

}  // namespace inferflux::model
