#include "model/huggingface/tensor_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>

namespace inferflux::model {
namespace {

using formats::HfConfig;

struct NameRule {
  std::string_view checkpoint;
  std::string_view gguf;
};

constexpr NameRule kModelNames[] = {
    {"embed_tokens", "token_embd"},
    {"wte", "token_embd"},
    {"wpe", "position_embd"},
    {"norm", "output_norm"},
    {"ln_f", "output_norm"},
    {"lm_head", "output"},
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"emb_ln", "token_embd_norm"},
};

constexpr NameRule kLayerNames[] = {
    {"input_layernorm", "attn_norm"},
    {"ln_1", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.qkv_proj", "attn_qkv"},
    {"attn.c_attn", "attn_qkv"},
    {"self_attn.o_proj", "attn_output"},
    {"attn.c_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"ln_2", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.c_proj", "ffn_down"},
    {"self_attn.sinks", "attn_sinks"},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.router", "ffn_gate_inp"},
    {"mlp.experts.gate_proj", "ffn_gate_exps"},
    {"mlp.experts.up_proj", "ffn_up_exps"},
    {"mlp.experts.down_proj", "ffn_down_exps"},
    {"mlp.switch_mlp.gate_proj", "ffn_gate_exps"},
    {"mlp.switch_mlp.up_proj", "ffn_up_exps"},
    {"mlp.switch_mlp.down_proj", "ffn_down_exps"},
    {"block_sparse_moe.gate", "ffn_gate_inp"},
    {"block_sparse_moe.switch_mlp.gate_proj", "ffn_gate_exps"},
    {"block_sparse_moe.switch_mlp.up_proj", "ffn_up_exps"},
    {"block_sparse_moe.switch_mlp.down_proj", "ffn_down_exps"},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"intermediate.dense", "ffn_up"},
    {"output.dense", "ffn_down"},
    {"output.LayerNorm", "layer_output_norm"},
    {"attn.Wqkv", "attn_qkv"},
    {"attn.out_proj", "attn_output"},
    {"norm1", "attn_output_norm"},
    {"norm2", "layer_output_norm"},
    {"mlp.fc11", "ffn_up"},
    {"mlp.fc12", "ffn_gate"},
    {"mlp.fc2", "ffn_down"},
};

constexpr NameRule kExpertNames[] = {
    {"gate_proj", "ffn_gate_exps"}, {"up_proj", "ffn_up_exps"}, {"down_proj", "ffn_down_exps"},
    {"w1", "ffn_gate_exps"},        {"w3", "ffn_up_exps"},      {"w2", "ffn_down_exps"},
};

// What checkpoints hold besides weights: masks and frequencies, which are computed.
constexpr std::string_view kIgnored[] = {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq",
                                         "embeddings.position_ids"};

// A factor of a whole weight, as CollectWeights makes it beside NVFP4.
constexpr std::string_view kFactor = ".scale";

// What encoders' checkpoints hold for other tasks than to embed.
constexpr std::string_view kHeads[] = {"pooler.", "cls.", "classifier.", "lm_head."};

std::optional<std::string_view> Lookup(std::span<const NameRule> rules, std::string_view name) {
  for (const NameRule& rule : rules) {
    if (rule.checkpoint == name) return rule.gguf;
  }
  return std::nullopt;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// "12." at the front of `text`.
std::optional<uint32_t> TakeIndex(std::string_view& text) {
  uint32_t index = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (failure != std::errc() || end == text.data() + text.size() || *end != '.') return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return index;
}

// Where a tensor of the checkpoint goes.
struct Place {
  std::string name;
  std::string_view stem;  // without layer and kind: "attn_q"
  std::optional<uint32_t> expert;
};

// Without the name of the model that a checkpoint may put in front.
std::string_view Unprefixed(const HfFamily& family, std::string_view name) {
  if (TakePrefix(name, "model.") || TakePrefix(name, "transformer.")) return name;
  if (family.encoder && (TakePrefix(name, "bert.") || TakePrefix(name, "roberta."))) return name;
  return name;
}

std::optional<Place> PlaceOf(const HfFamily& family, std::string_view name) {
  name = Unprefixed(family, name);
  const size_t dot = name.ends_with(".sinks") ? name.size() : name.rfind('.');  // which are called no weight
  if (dot == std::string_view::npos) return std::nullopt;
  std::string_view kind = dot == name.size() ? ".weight" : name.substr(dot);
  if (kind == ".gamma") kind = ".weight";  // of norms, in checkpoints of the first years
  if (kind == ".beta") kind = ".bias";
  std::string_view rest = name.substr(0, dot);
  if (family.encoder) TakePrefix(rest, "encoder.");
  if (!TakePrefix(rest, "layers.") && !TakePrefix(rest, "layer.") && !TakePrefix(rest, "h.")) {
    const auto stem = Lookup(kModelNames, rest);
    if (!stem) return std::nullopt;
    return Place{fmt::format("{}{}", *stem, kind), *stem, std::nullopt};
  }
  const auto layer = TakeIndex(rest);
  if (!layer) return std::nullopt;
  Place place;
  auto stem = Lookup(kLayerNames, rest);
  if (!stem && (TakePrefix(rest, "mlp.experts.") || TakePrefix(rest, "block_sparse_moe.experts."))) {
    place.expert = TakeIndex(rest);
    if (place.expert) stem = Lookup(kExpertNames, rest);
  }
  if (!stem) return std::nullopt;
  if (family.norms_after && rest == "post_attention_layernorm") stem = "post_attention_norm";
  place.stem = *stem;
  place.name = fmt::format("blk.{}.{}{}", *layer, *stem, kind);
  return place;
}

TensorChange ChangeOf(const HfFamily& family, const Place& place, const StoredWeight& weight) {
  if (place.name.ends_with(kFactor)) return TensorChange::kNone;
  if (family.interleaved && (place.stem == "attn_q" || place.stem == "attn_k")) return TensorChange::kInterleaveRows;
  if (family.unused_positions && place.stem == "position_embd") return TensorChange::kDropRows;
  if (family.shifted_norms && place.stem.ends_with("norm")) return TensorChange::kAddOne;
  const bool in_layer = place.name.starts_with("blk.");
  if (family.inputs_first && in_layer && weight.shape().size() == 2) return TensorChange::kTranspose;
  return TensorChange::kNone;
}

// What each plain frequency is divided by, Llama 3's way (its reference code's apply_scaling).
std::vector<float> Llama3Factors(const HfConfig& config, const formats::HfRopeScaling& rope) {
  const auto dims = static_cast<uint32_t>(config.head_dim * config.partial_rotary_factor.value_or(1.0));
  const double factor = rope.factor.value_or(8.0), slow = rope.low_freq_factor.value_or(1.0),
               fast = rope.high_freq_factor.value_or(4.0), original = rope.original_context.value_or(8192);
  std::vector<float> factors;
  for (uint32_t i = 0; i + 1 < dims; i += 2) {
    const double wavelength = 2.0 * std::numbers::pi * std::pow(config.rope_theta.value_or(10000.0), double(i) / dims);
    const double share = std::clamp((original / wavelength - slow) / (fast - slow), 0.0, 1.0);
    factors.push_back(static_cast<float>(1.0 / ((1.0 - share) / factor + share)));
  }
  return factors;
}

void AddRopeFactors(const HfConfig& config, std::vector<TensorRecipe>* plan) {
  if (!config.rope_scaling) return;
  const auto& rope = *config.rope_scaling;
  if (rope.type == "llama3") plan->push_back({.name = "rope_freqs.weight", .computed = Llama3Factors(config, rope)});
  if (!rope.long_factor.empty()) plan->push_back({.name = "rope_factors_long.weight", .computed = rope.long_factor});
  if (!rope.short_factor.empty()) plan->push_back({.name = "rope_factors_short.weight", .computed = rope.short_factor});
}

// Of experts some of which have a factor all have one.
void AddScalesOfOne(const HfConfig& config, std::vector<TensorRecipe>& plan) {
  for (TensorRecipe& recipe : plan) {
    if (!recipe.per_expert || !recipe.name.ends_with(kFactor)) continue;
    recipe.parts.resize(config.experts.value_or(0));
    for (auto& part : recipe.parts) {
      if (part == nullptr) part = std::make_shared<const StoredWeight>(recipe.name, formats::TensorScale{});
    }
  }
}

Status CheckExperts(const HfConfig& config, const std::vector<TensorRecipe>& plan) {
  for (const TensorRecipe& recipe : plan) {
    if (!recipe.per_expert) continue;
    for (size_t e = 0; e < config.experts.value_or(0); ++e) {
      if (e < recipe.parts.size() && recipe.parts[e] != nullptr) continue;
      return Fail(ErrorCode::kNotFound, "{}: expert {} of '{}' is missing", config.raw.source(), e, recipe.name);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<TensorRecipe>> PlanTensors(const HfConfig& config, const HfFamily& family,
                                              const formats::SafetensorsModel& model) {
  std::vector<TensorRecipe> plan;
  std::map<std::string, size_t, std::less<>> index;
  AddRopeFactors(config, &plan);
  const auto weights = CollectWeights(config, model);
  if (!weights) return Forward(weights);
  for (const auto& weight : *weights) {
    bool ignored = config.tie_word_embeddings && config.tie_word_embeddings_given &&
                   (weight->name() == "lm_head.weight" || weight->name() == "lm_head.scale");
    for (const std::string_view end : kIgnored) ignored = ignored || weight->name().ends_with(end);
    const std::string_view name = Unprefixed(family, weight->name());
    for (const std::string_view head : kHeads) ignored = ignored || (family.encoder && name.starts_with(head));
    if (ignored) continue;
    auto place = PlaceOf(family, weight->name());
    if (place && weight->expert()) place->expert = weight->expert();
    if (!place || (place->expert && *place->expert >= config.experts.value_or(0))) {
      return Fail(ErrorCode::kUnsupported, "{}: tensor '{}' is none that model_type '{}' is known to have",
                  config.raw.source(), weight->name(), config.model_type);
    }
    const auto [found, is_new] = index.emplace(place->name, plan.size());
    if (is_new) {
      plan.push_back({.name = place->name,
                      .change = ChangeOf(family, *place, *weight),
                      .heads = place->stem == "attn_k" ? config.kv_heads : config.heads,
                      .dropped = UnusedPositions(config, family),
                      .per_expert = place->expert.has_value()});
    }
    TensorRecipe& recipe = plan[found->second];
    const size_t part = place->expert.value_or(0);
    if (recipe.parts.size() <= part) recipe.parts.resize(part + 1);
    if (recipe.parts[part] != nullptr) {
      const std::string what = place->expert ? fmt::format("both hold expert {}", part) : "are the same tensor";
      return Fail(ErrorCode::kDataLoss, "{}: '{}' and '{}' {}; fetch the checkpoint or convert it anew",
                  config.raw.source(), recipe.parts[part]->name(), weight->name(), what);
    }
    recipe.parts[part] = weight;
  }
  AddScalesOfOne(config, plan);
  if (auto checked = CheckExperts(config, plan); !checked) return Forward(checked);
  return plan;
}

}  // namespace inferflux::model
