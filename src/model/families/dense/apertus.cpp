// Apertus (Swiss AI, arXiv:2509.14233): Qwen 3's attention; a feed-forward network without a gate, activated by xIELU,
// whose coefficients each layer has learned.
#include <cmath>
#include <string>
#include <vector>

#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kApertusKeys = R"({
  "read": {"vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "xielu", "max_position_embeddings": 65536,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false, "head_dim": null,
    "rope_parameters": {"rope_type": "llama3", "rope_theta": 12000000.0, "factor": 8.0,
      "original_max_position_embeddings": 8192, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "rope_theta": 12000000.0, "rope_scaling": null},
  "only": {"mlp_bias": [false], "qk_norm": [true], "post_norm": [false], "partial_rotary_factor": [null, 1.0]}
})";

double Softplus(double x) { return x > 30.0 ? x : std::log1p(std::exp(x)); }

// One value for each layer, or one for all.
Result<std::vector<float>> ReadValues(const ModelSource& source, const char* key, int32_t layers) {
  const auto* entry = source.metadata().Find(key);
  std::vector<float> values;
  if (entry != nullptr && entry->type != formats::GgufValueType::kArray) {
    const auto one = source.metadata().Get<float>(key);
    if (!one) return Forward(one);
    values.assign(static_cast<size_t>(layers), *one);
  } else {
    auto read = source.metadata().Get<std::vector<float>>(key);
    if (!read) return Forward(read);
    values = std::move(*read);
  }
  if (std::ssize(values) < layers) {
    return Fail(ErrorCode::kDataLoss, "{}: {} has {} entries for {} layers", source.path(), key, values.size(), layers);
  }
  for (const float value : values) {
    if (std::isfinite(value)) continue;
    return Fail(ErrorCode::kDataLoss, "{}: {} has {}, which is not a number", source.path(), key, value);
  }
  return values;
}

// Files hold the coefficients as they are trained: their softplus counts, and the negative one is above beta. eps
// bounds the exponential's argument from above, which changes a result by less than eps itself: it must be as small as
// in training.
Status ReadXielu(const ModelSource& source, ModelConfig* config) {
  constexpr float kLeastBound = -1e-5f;
  const auto above = ReadValues(source, "xielu.alpha_p", config->layers);
  const auto below = ReadValues(source, "xielu.alpha_n", config->layers);
  const auto beta = ReadValues(source, "xielu.beta", config->layers);
  const auto bound = ReadValues(source, "xielu.eps", config->layers);
  for (const auto* values : {&above, &below, &beta, &bound}) {
    if (!*values) return Forward(*values);
  }
  for (size_t i = 0; i < config->layer_kinds.size(); ++i) {
    if (!((*bound)[i] >= kLeastBound && (*bound)[i] <= 0.0f)) {
      return Fail(ErrorCode::kUnsupported, "{}: xielu.eps of layer {} is {}, which is not between {} and 0",
                  source.path(), i, (*bound)[i], kLeastBound);
    }
    config->layer_kinds[i].xielu = {.above = static_cast<float>(Softplus((*above)[i])),
                                    .below = static_cast<float>((*beta)[i] + Softplus((*below)[i])),
                                    .linear = (*beta)[i]};
  }
  return {};
}

Result<ModelConfig> ReadApertus(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead, .gated = false});
  if (!config) return config;
  if (auto read = ReadXielu(source, &*config); !read) return Forward(read);
  return config;
}

}  // namespace

const Family& Apertus() {
  static const Family family{
      .architecture = "apertus",
      .read = ReadApertus,
      .checkpoints = {{.model_types = {"apertus"},
                       .keys = kApertusKeys,
                       .activation = "xielu",
                       .own_tensors = {{"layers.*.attention_layernorm", "blk.*.attn_norm"},
                                       {"layers.*.feedforward_layernorm", "blk.*.ffn_norm"}},
                       .tensors = {kQkNormTensors, kDecoderTensors},
                       .layer_values = {{"layers.*.mlp.act_fn.alpha_p", "xielu.alpha_p"},
                                        {"layers.*.mlp.act_fn.alpha_n", "xielu.alpha_n"},
                                        {"layers.*.mlp.act_fn.beta", "xielu.beta"},
                                        {"layers.*.mlp.act_fn.eps", "xielu.eps"}}}},
      .tokenizers = {.turn_markers = {"<|system_start|>", "<|system_end|>", "<|developer_start|>", "<|developer_end|>",
                                      "<|user_start|>", "<|user_end|>", "<|assistant_start|>", "<|assistant_end|>"},
                     .generation_ends = {"<|assistant_end|>"}}};
  return family;
}

}  // namespace inferflux::model
