#include "formats/quantize/quant_mix.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace inferflux::formats {
namespace {

using T = TensorType;
using L = MixLayers;

constexpr MixRule kNoRule{};

constexpr auto kMixes = std::to_array<QuantMix>({
    {"F32", 0, T::kF32},
    {"F16", 1, T::kF16},
    {"BF16", 32, T::kBf16},
    {"Q4_0", 2, T::kQ4_0},
    {"Q4_1", 3, T::kQ4_1},
    {"Q5_0", 8, T::kQ5_0},
    {"Q5_1", 9, T::kQ5_1},
    {"Q8_0", 7, T::kQ8_0},
    {"Q2_K", 10, T::kQ2_K, {L::kSharedValues, T::kQ4_K, T::kQ3_K}, {L::kAll, T::kQ3_K}, {L::kAll, T::kQ3_K}, true},
    {"Q2_K_S", 21, T::kQ2_K, {L::kSharedValues, T::kQ4_K, T::kQ2_K}, {L::kFirstEighth, T::kQ4_K, T::kQ2_K}},
    {"Q3_K_S", 11, T::kQ3_K, kNoRule, kNoRule, kNoRule, true},
    {"Q3_K_M",
     12,
     T::kQ3_K,
     {L::kFirstTwo, T::kQ5_K, T::kQ4_K},
     {L::kFirstSixteenth, T::kQ5_K, T::kQ4_K},
     {L::kAll, T::kQ4_K},
     true},
    {"Q3_K_L", 13, T::kQ3_K, {L::kAll, T::kQ5_K}, {L::kAll, T::kQ5_K}, {L::kAll, T::kQ5_K}},
    {"Q4_K_S", 14, T::kQ4_K, {L::kFirstFour, T::kQ5_K, T::kQ4_K}, {L::kFirstEighth, T::kQ5_K, T::kQ4_K}, kNoRule, true},
    {"Q4_K_M",
     15,
     T::kQ4_K,
     {L::kEdgesAndEveryThird, T::kQ6_K, T::kQ4_K},
     {L::kEdgesAndEveryThird, T::kQ6_K, T::kQ4_K},
     kNoRule,
     true},
    {"Q5_K_S", 16, T::kQ5_K},
    {"Q5_K_M",
     17,
     T::kQ5_K,
     {L::kEdgesAndEveryThird, T::kQ6_K, T::kQ5_K},
     {L::kEdgesAndEveryThird, T::kQ6_K, T::kQ5_K}},
    {"Q6_K", 18, T::kQ6_K},
    {"IQ4_NL",
     25,
     T::kIq4Nl,
     {L::kSharedValues, T::kQ5_K, T::kIq4Nl},
     {L::kFirstEighth, T::kQ5_K, T::kIq4Nl},
     kNoRule,
     true},
    {"IQ4_XS",
     30,
     T::kIq4Xs,
     {L::kSharedValues, T::kQ5_K, T::kIq4Xs},
     {L::kFirstEighth, T::kQ5_K, T::kIq4Xs},
     kNoRule,
     true},
    {"TQ1_0", 36, T::kTq1_0},
    {"TQ2_0", 37, T::kTq2_0},
    {"MXFP4", 38, T::kMxfp4},
    {"MXFP4_MOE", 38, T::kMxfp4, kNoRule, kNoRule, kNoRule, false, true},
});

constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"Q3_K", "Q3_K_M"}, {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}};

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
  return upper;
}

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Matrices that are small, or whose errors spread, keep their type.
bool StaysAsItIs(const GgufTensor& tensor) {
  if (tensor.rank < 2 || !tensor.name.ends_with("weight")) return true;
  constexpr std::string_view kKept[] = {"_norm.weight",
                                        "ffn_gate_inp.weight",
                                        "position_embd",
                                        "token_types",
                                        "ssm_conv1d",
                                        "shortconv.conv.weight",
                                        "time_mix_first.weight",
                                        "attn_rel_b.weight",
                                        ".patch_embd",
                                        "altup",
                                        "laurel"};
  return std::any_of(std::begin(kKept), std::end(kKept),
                     [&](std::string_view part) { return Contains(tensor.name, part); });
}

uint32_t LayerOf(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  uint32_t layer = 0;
  if (name.starts_with(kPrefix)) std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return layer;
}

bool Applies(MixLayers layers, uint32_t layer, const MixModel& model) {
  const uint32_t eighth = model.layers / 8;
  switch (layers) {
    case L::kNone:
      return false;
    case L::kAll:
      return true;
    case L::kFirstTwo:
      return layer < 2;
    case L::kFirstFour:
      return layer < 4;
    case L::kFirstSixteenth:
      return layer < model.layers / 16;
    case L::kFirstEighth:
      return layer < eighth;
    case L::kEdgesAndEveryThird:
      return layer < eighth || layer >= 7 * model.layers / 8 || (layer - eighth) % 3 == 2;
    case L::kSharedValues:
      return model.queries_per_value_head >= 4;
  }
  return false;
}

TensorType ByRule(const MixRule& rule, const QuantMix& mix, uint32_t layer, const MixModel& model) {
  if (rule.layers == L::kNone) return mix.base;
  return Applies(rule.layers, layer, model) ? rule.type : rule.rest;
}

bool IsPlain(TensorType type) { return Traits(type).block_elements == 1; }
bool IsTernary(TensorType type) { return type == T::kTq1_0 || type == T::kTq2_0; }
bool IsIq4(TensorType type) { return type == T::kIq4Nl || type == T::kIq4Xs; }

TensorType ChooseDown(const QuantMix& mix, const MixModel& model, uint32_t layer) {
  if (model.has_importance) {
    if (IsIq4(mix.base)) return mix.base;
    // These two types give bad results on the first layers with importance.
    if (layer < model.layers / 8 && mix.base == T::kQ4_0) return T::kQ4_1;
    if (layer < model.layers / 8 && mix.base == T::kQ5_0) return T::kQ5_1;
  }
  return ByRule(mix.down, mix, layer, model);
}

TensorType ChooseMatrixType(const QuantMix& mix, const MixModel& model, const GgufTensor& tensor) {
  const std::string_view name = tensor.name;
  const bool eight_experts = model.experts == 8;
  if (name == "output.weight" || (model.tied_embeddings && name == "token_embd.weight")) {
    if (mix.base == T::kMxfp4 || mix.base == T::kQ8_0 || tensor.dims[0] % 256 != 0) return T::kQ8_0;
    return T::kQ6_K;
  }
  if (mix.experts_only) return tensor.rank > 2 && tensor.dims[2] > 1 ? mix.base : T::kQ8_0;
  if (name == "token_embd.weight") return IsTernary(mix.base) ? T::kQ4_K : mix.base;
  const uint32_t layer = LayerOf(name);
  if (Contains(name, "attn_v.weight") || Contains(name, "attn_qkv.weight") || Contains(name, "attn_kv_b.weight")) {
    return eight_experts ? T::kQ8_0 : ByRule(mix.values, mix, layer, model);
  }
  if (Contains(name, "attn_k.weight")) return eight_experts ? T::kQ8_0 : mix.base;
  if (Contains(name, "ffn_down")) return ChooseDown(mix, model, layer);
  if (Contains(name, "attn_output.weight")) {
    if (eight_experts) return mix.richer_expert_output ? T::kQ5_K : mix.base;
    return ByRule(mix.attention_output, mix, layer, model);
  }
  return mix.base;
}

// A type that allows rows of this length: one with smaller blocks, or none.
TensorType FitRow(TensorType type, uint64_t columns) {
  const auto fits = [&](TensorType candidate) { return columns % Traits(candidate).block_elements == 0; };
  if (fits(type)) return type;
  TensorType smaller = T::kF16;
  switch (type) {
    case T::kIq4Xs:
      smaller = T::kIq4Nl;
      break;
    case T::kQ2_K:
    case T::kQ3_K:
    case T::kTq1_0:
    case T::kTq2_0:
      smaller = T::kQ4_0;
      break;
    case T::kQ4_K:
      smaller = T::kQ5_0;
      break;
    case T::kQ5_K:
      smaller = T::kQ5_1;
      break;
    case T::kQ6_K:
      smaller = T::kQ8_0;
      break;
    default:
      break;
  }
  return fits(smaller) ? smaller : T::kF16;
}

}  // namespace

std::span<const QuantMix> AllQuantMixes() { return kMixes; }

Result<const QuantMix*> FindQuantMix(std::string_view name) {
  std::string wanted = Upper(name);
  for (const auto& [alias, meaning] : kAliases) {
    if (wanted == alias) wanted = meaning;
  }
  std::string names;
  for (const QuantMix& mix : kMixes) {
    if (mix.name == wanted) return &mix;
    names += names.empty() ? "" : ", ";
    names += mix.name;
  }
  return Fail(ErrorCode::kInvalidArgument, "'{}' is not a supported quantisation; supported are {}", name, names);
}

Result<MixModel> DescribeForMix(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata();
  const auto architecture = metadata.Get<std::string>("general.architecture");
  if (!architecture) return Forward(architecture);
  MixModel model;
  const auto read = [&](std::string_view key, uint32_t fallback) -> Result<uint32_t> {
    return metadata.GetOr<uint32_t>(fmt::format("{}.{}", *architecture, key), fallback);
  };
  const auto layers = read("block_count", 0);
  if (!layers) return Forward(layers);
  const auto experts = read("expert_count", 0);
  if (!experts) return Forward(experts);
  model.layers = *layers;
  model.experts = *experts;
  // Some families have a head count for each layer; they count as not sharing.
  const auto heads = read("attention.head_count", 1);
  const auto value_heads = read("attention.head_count_kv", heads.value_or(1));
  if (heads && value_heads && *value_heads > 0) model.queries_per_value_head = *heads / *value_heads;
  model.tied_embeddings = file.FindTensor("output.weight") == nullptr;
  return model;
}

TensorType ChooseType(const QuantMix& mix, const MixModel& model, const GgufTensor& tensor) {
  if (StaysAsItIs(tensor)) return tensor.type;
  if (IsPlain(mix.base)) return mix.base;
  return FitRow(ChooseMatrixType(mix, model, tensor), tensor.dims[0]);
}

}  // namespace inferflux::formats
