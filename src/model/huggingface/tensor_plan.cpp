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

#include "model/families/vision/text_parts.h"
#include "model/huggingface/classifier.h"
#include "model/huggingface/layer_values.h"

namespace inferflux::model {
namespace {

using formats::HfConfig;

// The per-tensor scale that CollectWeights makes for an NVFP4 weight.
constexpr std::string_view kFactor = ".scale";

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// A name with its numbers replaced by "*". The first number is the layer's, the second an expert's.
struct NumberedName {
  std::string pattern;
  std::vector<uint32_t> numbers;
};

NumberedName WithoutNumbers(std::string_view name) {
  NumberedName out;
  while (true) {
    const std::string_view part = name.substr(0, name.find('.'));
    uint32_t number = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (!part.empty() && failure == std::errc() && end == part.data() + part.size()) {
      out.numbers.push_back(number);
      out.pattern += '*';
    } else {
      out.pattern += part;
    }
    if (part.size() == name.size()) return out;
    out.pattern += '.';
    name.remove_prefix(part.size() + 1);
  }
}

const TensorName* FindTensorName(const Checkpoint& checkpoint, std::string_view pattern, bool whole, bool classifies) {
  const auto find = [&](std::span<const TensorName> names) -> const TensorName* {
    const auto it = std::ranges::find_if(
        names, [&](const TensorName& name) { return name.whole == whole && name.checkpoint == pattern; });
    return it == names.end() ? nullptr : &*it;
  };
  const TensorName* found = classifies ? find(checkpoint.head) : nullptr;
  if (found == nullptr) found = find(checkpoint.own_tensors);
  for (const auto& names : checkpoint.tensors) {
    if (found == nullptr) found = find(names);
  }
  return found;
}

// The destination of a checkpoint's tensor.
struct Place {
  std::string name;
  const TensorName* rule;
  std::optional<uint32_t> expert;
};

// The name without the model prefix that some checkpoints have.
std::string_view Unprefixed(const Checkpoint& checkpoint, std::string_view name) {
  for (const std::string_view prefix : checkpoint.prefixes) {
    if (TakePrefix(name, prefix)) break;
  }
  return name;
}

std::optional<Place> PlaceOf(const Checkpoint& checkpoint, std::string_view name, bool classifies) {
  if (name.find('*') != std::string_view::npos) return std::nullopt;
  const NumberedName numbered = WithoutNumbers(Unprefixed(checkpoint, name));
  std::string_view pattern = numbered.pattern, kind = ".weight";
  const TensorName* rule = FindTensorName(checkpoint, pattern, true, classifies);
  if (rule == nullptr) {
    const size_t dot = pattern.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    kind = pattern.substr(dot);
    rule = FindTensorName(checkpoint, pattern.substr(0, dot), false, classifies);
    if (rule == nullptr) return std::nullopt;
    if (kind == ".gamma") kind = ".weight";  // of norms, in the earliest checkpoints
    if (kind == ".beta") kind = ".bias";
  }
  if (rule->complete) kind = "";
  Place place{.name = {}, .rule = rule, .expert = {}};
  const size_t layer = rule->gguf.find('*');
  if (layer == std::string_view::npos) {
    place.name = fmt::format("{}{}", rule->gguf, kind);
  } else {
    place.name =
        fmt::format("{}{}{}{}", rule->gguf.substr(0, layer), numbered.numbers[0], rule->gguf.substr(layer + 1), kind);
  }
  if (numbered.numbers.size() > 1) place.expert = numbered.numbers[1];
  if (rule->stacked) place.expert = numbered.numbers[0];
  return place;
}

bool IsOfHead(const Place& place) { return place.name.starts_with("cls."); }

TensorChange ChangeOf(const Place& place, const StoredWeight& weight, const HfConfig& config) {
  if (place.name.ends_with(kFactor)) return TensorChange::kNone;
  if (const auto& heads = config.value_heads; heads && heads->heads == heads->key_heads) {  // their order is the same
    if (place.rule->change == TensorChange::kTileNegatedExp) return TensorChange::kNegatedExp;
    for (const auto tile : {TensorChange::kTileRows, TensorChange::kTileLastRows, TensorChange::kTileColumns}) {
      if (place.rule->change == tile) return TensorChange::kNone;
    }
  }
  if (place.rule->change == TensorChange::kPadRows && weight.shape()[0] == config.vocab_size)
    return TensorChange::kNone;
  const bool matrix = weight.shape().size() == 2;
  return place.rule->change == TensorChange::kTranspose && !matrix ? TensorChange::kNone : place.rule->change;
}

std::vector<formats::HfRowFactor> FactorsOf(const HfConfig& config, const Place& place) {
  const auto found = config.tensor_factors.find(place.rule->gguf);
  return found == config.tensor_factors.end() ? std::vector<formats::HfRowFactor>() : found->second;
}

// If the embedding and the output have different factors, a file has both, although the checkpoint ties them.
void AddOutput(const HfConfig& config, std::vector<TensorRecipe>& plan) {
  const auto factors = config.tensor_factors.find("output");
  const auto named = [&](std::string_view name) { return std::ranges::find(plan, name, &TensorRecipe::name); };
  if (factors == config.tensor_factors.end() || named("output.weight") != plan.end()) return;
  const auto embedding = named("token_embd.weight");
  if (embedding == plan.end()) return;
  TensorRecipe output = *embedding;
  output.name = "output.weight";
  output.factors = factors->second;
  plan.push_back(std::move(output));
}

// A tensor of heads' keys and values is two in GGUF.
void AddHeadValues(std::vector<TensorRecipe>& plan) {
  for (size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].change != TensorChange::kHeadKeys) continue;
    TensorRecipe values = plan[i];
    values.name.replace(values.name.find("attn_k_b"), std::string_view("attn_k_b").size(), "attn_v_b");
    values.change = TensorChange::kHeadValues;
    plan.insert(plan.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(values));
  }
}

// Whether a tensor belongs to a layer after the model's own, which predicts a further token.
bool IsOfPredictingLayer(const HfConfig& config, std::string_view name) {
  const NumberedName numbered = WithoutNumbers(name);
  return numbered.pattern.starts_with("layers.*.") && numbered.numbers[0] >= config.layers;
}

// The divisor of each plain frequency, as in Llama 3's reference code (apply_scaling).
std::vector<float> Llama3Factors(const HfConfig& config, const formats::HfRopeScaling& rope) {
  const auto dims = static_cast<uint32_t>(config.head_dim * config.partial_rotary_factor.value_or(1.0));
  const double factor = rope.factor.value_or(8.0), slow = rope.low_freq_factor.value_or(1.0),
               fast = rope.high_freq_factor.value_or(4.0),
               original = rope.original_context.value_or(config.max_position.value_or(8192));
  std::vector<float> factors;
  for (uint32_t i = 0; i + 1 < dims; i += 2) {
    const double wavelength = 2.0 * std::numbers::pi * std::pow(config.rope_theta.value_or(10000.0), double(i) / dims);
    const double share = std::clamp((original / wavelength - slow) / (fast - slow), 0.0, 1.0);
    factors.push_back(static_cast<float>(1.0 / ((1.0 - share) / factor + share)));
  }
  return factors;
}

void AddRopeFactors(const HfConfig& config, std::vector<TensorRecipe>* plan) {
  if (!config.rope_factors.empty()) plan->push_back({.name = "rope_freqs.weight", .computed = config.rope_factors});
  if (!config.rope_scaling) return;
  const auto& rope = *config.rope_scaling;
  if (rope.type == "llama3") plan->push_back({.name = "rope_freqs.weight", .computed = Llama3Factors(config, rope)});
  if (!rope.long_factor.empty()) plan->push_back({.name = "rope_factors_long.weight", .computed = rope.long_factor});
  if (!rope.short_factor.empty()) plan->push_back({.name = "rope_factors_short.weight", .computed = rope.short_factor});
}

// If some experts of a tensor have a scale, all get one.
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
    const bool layers = recipe.name.starts_with("blk.");
    for (size_t e = 0; e < (layers ? config.experts.value_or(0) : config.stacked); ++e) {
      if (e < recipe.parts.size() && recipe.parts[e] != nullptr) continue;
      return Fail(ErrorCode::kNotFound, "{}: {} {} of '{}' is missing", config.raw.source(),
                  layers ? "expert" : "matrix", e, recipe.name);
    }
  }
  return {};
}

// Whether the checkpoint has a head whose values are not the embedding's: then transformers does not tie them, whatever
// config.json says. Quantised weights are not compared.
bool HasOwnHead(const Checkpoint& checkpoint, const std::vector<std::shared_ptr<const StoredWeight>>& weights) {
  const StoredWeight *head = nullptr, *embedding = nullptr;
  for (const auto& weight : weights) {
    const auto place = PlaceOf(checkpoint, weight->name(), false);
    if (place && place->name == "output.weight") head = weight.get();
    if (place && place->name == "token_embd.weight") embedding = weight.get();
  }
  if (head == nullptr || embedding == nullptr || head->mapped().empty() || embedding->mapped().empty()) return false;
  return head->type() != embedding->type() || head->shape() != embedding->shape() ||
         !std::ranges::equal(head->mapped(), embedding->mapped());
}

const TensorRecipe* FindRecipe(const std::vector<TensorRecipe>& plan, std::string_view name) {
  const auto found = std::ranges::find(plan, name, &TensorRecipe::name);
  return found == plan.end() ? nullptr : &*found;
}

// A model that generates text has a head, or shares the embedding.
Status CheckHead(const HfConfig& config, const Checkpoint& checkpoint, const std::vector<TensorRecipe>& plan) {
  if (FindRecipe(plan, "output.weight") != nullptr) return {};
  if (FindRecipe(plan, "output.bias") != nullptr) {
    return Fail(
        ErrorCode::kUnsupported,
        "{}: tie_word_embeddings is true, and the head has a bias; a bias is supported only of a head of its own",
        config.raw.source());
  }
  if (config.tie_word_embeddings || !checkpoint.causal) return {};
  const auto generates = [](const std::string& name) {
    return name.ends_with("ForCausalLM") || name.ends_with("LMHeadModel");
  };
  if (!std::ranges::any_of(config.architectures, generates)) return {};
  return Fail(
      ErrorCode::kNotFound,
      "{}: tie_word_embeddings is false, but the checkpoint has no head (lm_head.weight); if the model predicts "
      "tokens by its embedding, set it to true, otherwise fetch the checkpoint anew",
      config.raw.source());
}

// transformers reads biases that config.json announces, and no others.
Status CheckBiases(const HfConfig& config, const std::vector<TensorRecipe>& plan) {
  if (config.quantization) return {};  // some tools write biases of zeros
  const std::pair<const char*, std::vector<const char*>> kinds[] = {
      {"attention_bias", config.latents ? std::vector<const char*>{"blk.0.attn_kv_a_mqa", "blk.0.attn_output"}
                                        : std::vector<const char*>{"blk.0.attn_q", "blk.0.attn_qkv"}},
      {"qkv_bias", {"blk.0.attn_q", "blk.0.attn_qkv"}},
      {"use_qkv_bias", {"blk.0.attn_q", "blk.0.attn_qkv"}},
      {"mlp_bias", {"blk.0.ffn_up"}},
      {"lm_head_bias", {"output"}},
      {"use_bias", {"blk.0.ssm_in"}},
      {"mamba_proj_bias", {"blk.0.ssm_in"}},
      {"use_conv_bias", {"blk.0.ssm_conv1d"}},
      {"mamba_conv_bias", {"blk.0.ssm_conv1d"}}};
  for (const auto& [key, names] : kinds) {
    const auto announced = config.raw.Find<bool>(key);
    if (!announced) return Forward(announced);
    if (!*announced) continue;
    for (const std::string name : names) {
      if (FindRecipe(plan, name + ".weight") == nullptr) continue;
      const TensorRecipe* bias = FindRecipe(plan, name + ".bias");
      if ((bias != nullptr) == **announced) continue;
      return Fail(ErrorCode::kDataLoss, "{}: {} is {}, but {}; correct the key, or fetch the checkpoint anew",
                  config.raw.source(), key, **announced,
                  bias == nullptr ? fmt::format("the tensor of {} has no bias", name)
                                  : fmt::format("tensor '{}' is there", bias->parts[0]->name()));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<TensorRecipe>> PlanTensors(const HfConfig& config, const HfFamily& family,
                                              const formats::SafetensorsModel& model) {
  const Checkpoint& checkpoint = family.checkpoint;
  std::vector<TensorRecipe> plan;
  std::map<std::string, size_t, std::less<>> index;
  AddRopeFactors(config, &plan);
  const bool classifies = IsClassifier(config);
  const auto weights = CollectWeights(config, model);
  if (!weights) return Forward(weights);
  const bool tied = config.tie_word_embeddings && !HasOwnHead(checkpoint, *weights);
  for (const auto& weight : *weights) {
    const std::string_view name = Unprefixed(checkpoint, weight->name());
    auto place = PlaceOf(checkpoint, weight->name(), classifies);
    bool ignored = tied && place && (place->name == "output.weight" || place->name == "output.scale");
    for (const std::string_view pattern : checkpoint.ignored) ignored = ignored || MatchesName(pattern, name);
    ignored = ignored || (config.several_parts && IsOfOtherPart(name));
    ignored = ignored || IsLayerValue(checkpoint, WithoutNumbers(name).pattern);
    if (place && IsOfHead(*place)) ignored = false;
    if (ignored || (checkpoint.predicting_layers && IsOfPredictingLayer(config, name))) continue;
    if (place && weight->expert()) place->expert = weight->expert();
    const uint32_t parts = place && place->rule->stacked ? config.stacked : config.experts.value_or(0);
    if (!place || (place->expert && *place->expert >= parts)) {
      const bool fused = weight->name().ends_with("experts.gate_up_proj");
      return Fail(ErrorCode::kUnsupported, "{}: tensor '{}' is unknown for model_type '{}'{}", config.raw.source(),
                  weight->name(), config.model_type,
                  fused ? "; experts in one tensor are read in MXFP4 or as MLX's tools write them, not as they are "
                          "trained: use the published checkpoint in MXFP4, or a GGUF file of the model"
                        : "");
    }
    const auto [found, is_new] = index.emplace(place->name, plan.size());
    if (is_new) {
      plan.push_back({.name = place->name,
                      .change = ChangeOf(*place, *weight, config),
                      .heads = place->rule->gguf == "blk.*.attn_k" ? config.kv_heads : config.heads,
                      .kv_heads = config.kv_heads,
                      .dropped = UnusedPositions(config, checkpoint),
                      .padded = config.vocab_size,
                      .groups = config.norm_groups,
                      .value_heads = config.value_heads.value_or(formats::HfValueHeads()),
                      .latents = config.latents.value_or(formats::HfLatents()),
                      .factors = FactorsOf(config, *place),
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
  AddOutput(config, plan);
  AddHeadValues(plan);
  if (auto checked = CheckExperts(config, plan); !checked) return Forward(checked);
  if (auto checked = CheckHead(config, checkpoint, plan); !checked) return Forward(checked);
  if (auto checked = CheckBiases(config, plan); !checked) return Forward(checked);
  return plan;
}

}  // namespace inferflux::model
