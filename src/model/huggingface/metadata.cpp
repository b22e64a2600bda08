#include "model/huggingface/metadata.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "model/families/rope_scaling.h"
#include "model/huggingface/classifier.h"

namespace inferflux::model {
namespace {

using formats::HfConfig;
using formats::HfRopeScaling;

// Metadata with the architecture as the prefix of each key. Values that config.json omits are omitted.
struct Keys {
  formats::GgufMetadataBuilder& metadata;
  std::string prefix;

  std::string Full(std::string_view key) const { return fmt::format("{}{}", prefix, key); }
  void Size(std::string_view key, std::optional<uint32_t> value) {
    if (value) metadata.Set(Full(key), *value);
  }
  void Number(std::string_view key, std::optional<double> value) {
    if (value) metadata.Set(Full(key), static_cast<float>(*value));
  }
};

void WriteShape(const HfConfig& config, const Checkpoint& checkpoint, Keys& keys) {
  keys.Size("vocab_size", config.vocab_size);
  if (config.max_position) {
    keys.Size("context_length",
              *config.max_position - std::min(*config.max_position, UnusedPositions(config, checkpoint)));
  }
  keys.Size("embedding_length", config.hidden_size);
  keys.Size("block_count", config.layers);
  const uint32_t usual = checkpoint.attention ? 4 * config.hidden_size : 0;
  if (config.layer_feed_forward.empty()) {
    keys.Size("feed_forward_length", config.intermediate_size.value_or(usual));
  } else {
    keys.metadata.SetArray(keys.prefix + "feed_forward_length", std::span<const uint32_t>(config.layer_feed_forward));
  }
  keys.Size("attention.head_count", config.heads);
  keys.Size("ssm.inner_size", config.ssm_inner_size);
  if (!config.recurrent_layers.empty()) {
    const auto flags = std::make_unique<bool[]>(config.recurrent_layers.size());
    std::ranges::copy(config.recurrent_layers, flags.get());
    keys.metadata.SetArray(keys.prefix + "attention.recurrent_layers",
                           std::span<const bool>(flags.get(), config.recurrent_layers.size()));
  }
  keys.Number("attention.layer_norm_rms_epsilon", config.rms_norm_eps);
  keys.Number("attention.layer_norm_epsilon", config.layer_norm_eps);
  if (!checkpoint.attention) return;
  if (config.layer_kv_heads.empty()) {
    keys.Size("attention.head_count_kv", config.kv_heads);
  } else {
    keys.metadata.SetArray(keys.prefix + "attention.head_count_kv", std::span<const uint32_t>(config.layer_kv_heads));
  }
  if (const auto& latents = config.latents) {  // llama.cpp's view of them: one KV head, whose value is part of its key
    keys.Size("attention.kv_lora_rank", latents->rank);
    keys.Size("attention.key_length", latents->rank + config.head_dim);
    keys.Size("attention.value_length", latents->rank);
    keys.Size("attention.key_length_mla", latents->plain_rows + config.head_dim);
    keys.Size("attention.value_length_mla", latents->value_rows);
  } else {
    keys.Size("attention.key_length", config.head_dim);
    keys.Size("attention.value_length", config.head_dim);
  }
  if (config.parallel_residual) keys.metadata.Set(keys.prefix + "use_parallel_residual", *config.parallel_residual);
}

Status WriteScales(const HfConfig& config, const Checkpoint& checkpoint, Keys& keys) {
  keys.Number("attn_logit_softcapping", config.attn_logit_softcap);
  keys.Number("final_logit_softcapping", config.final_logit_softcap);
  if (config.query_pre_attn_scalar) keys.Number("attention.scale", 1.0 / std::sqrt(*config.query_pre_attn_scalar));
  for (const ConfigNumber& number : checkpoint.numbers) {
    const auto value = config.raw.Find<double>(number.key);
    if (!value) return Forward(value);
    keys.Number(number.gguf, *value);
  }
  for (const auto& [key, value] : config.counts) keys.Size(key, value);
  for (const auto& [key, value] : config.numbers) keys.Number(key, value);
  for (const auto& [key, value] : config.flags) keys.metadata.Set(keys.prefix + key, value);
  for (const auto& [key, values] : config.lists)
    keys.metadata.SetArray(keys.prefix + key, std::span<const float>(values));
  for (const ConfigNumber& count : checkpoint.counts) {
    const auto value = config.raw.Find<uint32_t>(count.key);
    if (!value) return Forward(value);
    keys.Size(count.gguf, *value);
  }
  return {};
}

Status WriteWindows(const HfConfig& config, Keys& keys) {
  if (!config.sliding_window || !config.use_sliding_window.value_or(true)) return {};
  if (config.layer_types.empty()) {
    keys.Size("attention.sliding_window", config.sliding_window);
    const auto period = config.raw.Find<uint32_t>("sliding_window_pattern");
    if (!period) return Forward(period);
    keys.Size("attention.sliding_window_pattern", *period);
    return {};
  }
  if (config.layer_types.size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: layer_types has {} entries for {} layers", config.raw.source(),
                config.layer_types.size(), config.layers);
  }
  std::vector<uint8_t> windowed;
  for (const std::string& type : config.layer_types) {
    if (type != "sliding_attention" && type != "full_attention") {
      return Fail(ErrorCode::kUnsupported,
                  "{}: layer_types has '{}'; supported are sliding_attention and "
                  "full_attention",
                  config.raw.source(), type);
    }
    windowed.push_back(type == "sliding_attention");
  }
  keys.Size("attention.sliding_window", config.sliding_window);
  const auto flags = std::make_unique<bool[]>(windowed.size());
  std::copy(windowed.begin(), windowed.end(), flags.get());
  keys.metadata.SetArray(keys.prefix + "attention.sliding_window_pattern",
                         std::span<const bool>(flags.get(), windowed.size()));
  return {};
}

void WriteExperts(const HfConfig& config, Keys& keys) {
  if (config.experts.value_or(0) == 0) return;
  keys.Size("expert_count", config.experts);
  keys.Size("expert_used_count", config.experts_per_token);
  keys.Size("expert_feed_forward_length",
            config.expert_intermediate_size ? config.expert_intermediate_size : config.intermediate_size);
  keys.Size("expert_shared_feed_forward_length", config.shared_expert_intermediate_size);
  keys.Size("expert_shared_count", config.shared_experts);
  if (config.expert_gating) keys.Size("expert_gating_func", static_cast<uint32_t>(*config.expert_gating));
  keys.Size("leading_dense_block_count", config.leading_dense_layers);
  keys.Number("expert_weights_scale", config.routed_scaling);
  keys.Size("expert_group_count", config.expert_groups);
  keys.Size("expert_group_used_count", config.expert_groups_used);
  if (config.norm_topk_prob) keys.metadata.Set(keys.prefix + "expert_weights_norm", *config.norm_topk_prob);
}

// YaRN's scale of the rotations: the paper's formula, or DeepSeek's quotient of two (arXiv:2309.00071).
std::optional<double> YarnMagnitude(const HfRopeScaling& rope, double factor) {
  const auto given = [](const std::optional<double>& value) { return value.value_or(0.0) != 0.0; };
  if (rope.attention_factor || !given(rope.mscale) || !given(rope.mscale_all_dim)) return rope.attention_factor;
  const auto scale = [&](double m) { return factor <= 1.0 ? 1.0 : 0.1 * m * std::log(factor) + 1.0; };
  return scale(*rope.mscale) / scale(*rope.mscale_all_dim);
}

Status WriteRopeScaling(const HfConfig& config, const HfRopeScaling& rope, Keys& keys) {
  const auto own_original = config.raw.Find<uint32_t>("original_max_position_embeddings");
  if (!own_original) return Forward(own_original);
  const double context = config.max_position.value_or(0);
  // As in transformers, the key of its own precedes the one in the object.
  const uint32_t original = own_original->value_or(rope.original_context.value_or(config.max_position.value_or(0)));
  const double factor = rope.factor.value_or(original > 0 ? context / original : 1.0);
  if (rope.type == "linear") {
    keys.metadata.Set(keys.prefix + "rope.scaling.type", "linear");
    keys.Number("rope.scaling.factor", factor);
  } else if (rope.type == "dynamic") {
    keys.Number("rope.scaling.dynamic_factor", factor);
  } else if (rope.type == "yarn") {
    keys.metadata.Set(keys.prefix + "rope.scaling.type", "yarn");
    keys.Number("rope.scaling.factor", factor);
    keys.Size("rope.scaling.original_context_length", original);
    const auto magnitude = YarnMagnitude(rope, factor);
    keys.Number("rope.scaling.yarn_attn_factor", magnitude);
    if (config.latents && rope.mscale_all_dim.value_or(0.0) != 0.0) {
      // It also multiplies the scale of attention, and then its absence does not mean the paper's formula.
      keys.Number("rope.scaling.yarn_log_multiplier", 0.1 * *rope.mscale_all_dim);
      if (!magnitude) keys.Number("rope.scaling.yarn_attn_factor", factor > 1.0 ? 0.1 * std::log(factor) + 1.0 : 1.0);
    }
    keys.Number("rope.scaling.yarn_beta_fast", rope.beta_fast);
    keys.Number("rope.scaling.yarn_beta_slow", rope.beta_slow);
    keys.metadata.Set(kYarnTruncateKey, rope.truncate);
  } else if (rope.type == "longrope" || rope.type == "su") {
    keys.metadata.Set(keys.prefix + "rope.scaling.type", "longrope");
    keys.Size("rope.scaling.original_context_length", original);
    const double magnitude = factor > 1.0 && original > 1
                                 ? std::sqrt(1.0 + std::log(factor) / std::log(static_cast<double>(original)))
                                 : 1.0;
    keys.Number("rope.scaling.attn_factor", rope.attention_factor.value_or(magnitude));
  } else if (rope.type != "llama3") {  // llama3's factors are a tensor
    return Fail(ErrorCode::kUnsupported,
                "{}: RoPE scaling '{}' is not supported; supported are linear, dynamic, yarn, "
                "longrope and llama3",
                config.raw.source(), rope.type);
  }
  return {};
}

}  // namespace

Status WriteHfMetadata(const HfConfig& config, const HfFamily& family, formats::GgufMetadataBuilder& metadata) {
  Keys keys{metadata, std::string(family.architecture) + "."};
  metadata.Set("general.architecture", family.architecture);
  const Checkpoint& checkpoint = family.checkpoint;
  WriteShape(config, checkpoint, keys);
  if (!checkpoint.causal) keys.metadata.Set(keys.prefix + "attention.causal", false);
  if (auto done = WriteScales(config, checkpoint, keys); !done) return done;
  if (auto done = WriteWindows(config, keys); !done) return done;
  WriteExperts(config, keys);
  if (!config.rope_sections.empty()) {
    keys.metadata.SetArray(keys.prefix + "rope.dimension_sections", std::span<const int32_t>(config.rope_sections));
  }
  if (!checkpoint.attention) return {};
  keys.Number("rope.freq_base", config.rope_theta);
  keys.Number("rope.freq_base_swa", config.local_rope_theta);
  const double share = config.partial_rotary_factor.value_or(1.0);
  if (!(share > 0.0 && share <= 1.0)) {
    return Fail(ErrorCode::kDataLoss, "{}: partial_rotary_factor is {}, which is not between 0 and 1",
                config.raw.source(), share);
  }
  keys.Size("rope.dimension_count", static_cast<uint32_t>(config.head_dim * share));
  if (config.rope_scaling) {
    if (auto done = WriteRopeScaling(config, *config.rope_scaling, keys); !done) return done;
  }
  const auto lengths = config.raw.Find<std::vector<int32_t>>("matryoshka_dimensions");
  if (!lengths) return Forward(lengths);
  if (*lengths) metadata.SetArray(keys.prefix + "matryoshka_dimensions", std::span<const int32_t>(**lengths));
  if (auto done = WriteClassifier(config, family, metadata); !done) return done;
  return checkpoint.check == nullptr ? Status() : checkpoint.check(config);
}

}  // namespace inferflux::model
