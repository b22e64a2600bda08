#include "model/families/hybrid/delta_net.h"

#include <string>
#include <utility>
#include <vector>

#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr int32_t kMostDeltaHeads = 1 << 16;
constexpr int32_t kMostHeadDims = 4096;
constexpr int32_t kMostDeltaTaps = 1024;

Status ReadDeltaLayerTypes(formats::HfConfig& config) {
  const auto interval = config.raw.GetOr<uint32_t>("full_attention_interval", 4);
  if (!interval) return Forward(interval);
  if (*interval == 0) return Fail(ErrorCode::kDataLoss, "{}: full_attention_interval is 0", config.raw.source());
  for (uint32_t i = static_cast<uint32_t>(config.layer_types.size()); i < config.layers; ++i) {
    config.layer_types.push_back((i + 1) % *interval == 0 ? "full_attention" : "linear_attention");
  }
  if (config.layer_types.size() != config.layers) {
    return Fail(ErrorCode::kDataLoss, "{}: layer_types has {} entries for {} layers", config.raw.source(),
                config.layer_types.size(), config.layers);
  }
  for (const std::string& type : config.layer_types) {
    if (type == "linear_attention" || type == "full_attention") continue;
    return Fail(ErrorCode::kUnsupported, "{}: layer_types has '{}'; supported are linear_attention and full_attention",
                config.raw.source(), type);
  }
  for (const std::string& type : config.layer_types) config.recurrent_layers.push_back(type == "linear_attention");
  return {};
}

Result<compute::DeltaNetParams> ReadDeltaNet(const ModelSource& source, const std::string& prefix,
                                             compute::DeltaNetParams delta) {
  int32_t inner = 0;
  auto sizes = ReadSizes(source, prefix,
                         {{"ssm.group_count", &delta.key_heads, kMostDeltaHeads, true},
                          {"ssm.time_step_rank", &delta.value_heads, kMostDeltaHeads, true},
                          {"ssm.state_size", &delta.key_dim, kMostHeadDims, true},
                          {"ssm.inner_size", &inner, kMostDeltaHeads * 256, true}});
  if (!sizes) return Forward(sizes);
  if (delta.value_heads % delta.key_heads != 0 || inner % delta.value_heads != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: {} values in {} heads cannot share {} key heads evenly", source.path(),
                inner, delta.value_heads, delta.key_heads);
  }
  delta.value_dim = inner / delta.value_heads;
  if (delta.value_dim > kMostHeadDims) {
    return Fail(ErrorCode::kDataLoss, "{}: value heads of {} dimensions; at most {} are served", source.path(),
                delta.value_dim, kMostHeadDims);
  }
  return delta;
}

// GGUF lists them, or gives the period of the layers with attention.
Status MarkRecurrentLayers(const ModelSource& source, const std::string& prefix, ModelConfig* config) {
  const std::string key = prefix + "attention.recurrent_layers";
  int32_t interval = 4;
  auto size = ReadSizes(source, prefix, {{"full_attention_interval", &interval, 4096, false}});
  if (!size) return size;
  auto listed = source.metadata().GetOr<std::vector<bool>>(key, {});
  if (!listed) return Forward(listed);
  if (!listed->empty() && listed->size() < config->layer_kinds.size()) {
    return Fail(ErrorCode::kDataLoss, "{}: {} has {} entries for {} layers", source.path(), key, listed->size(),
                config->layer_kinds.size());
  }
  for (size_t i = 0; i < config->layer_kinds.size(); ++i) {
    const bool recurrent = listed->empty() ? (i + 1) % static_cast<size_t>(interval) != 0 : (*listed)[i];
    if (!recurrent) continue;
    config->layer_kinds[i].kv = {.heads = 0, .head_dim = config->head_dim};
    config->layer_kinds[i].recurrent = true;
  }
  return {};
}

}  // namespace

Status PrepareDeltaNet(formats::HfConfig& config) {
  SetDefault(config.partial_rotary_factor, 0.25);
  SetDefault(config.rms_norm_eps, 1e-6);
  SetDefaultHeadDim(config, 256);
  struct Size {
    const char* key;
    const char* gguf;
    uint32_t usual, most, value = 0;
  };
  Size sizes[] = {{"linear_num_value_heads", "ssm.time_step_rank", 32, kMostDeltaHeads},
                  {"linear_value_head_dim", "", 128, kMostHeadDims},
                  {"linear_num_key_heads", "ssm.group_count", 16, kMostDeltaHeads},
                  {"linear_key_head_dim", "ssm.state_size", 128, kMostHeadDims},
                  {"linear_conv_kernel_dim", "ssm.conv_kernel", 4, kMostDeltaTaps}};
  for (Size& size : sizes) {
    const auto value = config.raw.GetOr<uint32_t>(size.key, size.usual);
    if (!value) return Forward(value);
    if (*value < 1 || *value > size.most) {
      return Fail(ErrorCode::kDataLoss, "{}: {} is {}, which is not between 1 and {}", config.raw.source(), size.key,
                  *value, size.most);
    }
    size.value = *value;
    if (*size.gguf != '\0') config.counts[size.gguf] = *value;
  }
  config.ssm_inner_size = sizes[0].value * sizes[1].value;
  return ReadDeltaLayerTypes(config);
}

Result<ModelConfig> ReadDeltaNetModel(const ModelSource& source, int32_t context, ModelConfig family) {
  const auto architecture = source.metadata().Get<std::string>("general.architecture");
  if (!architecture) return Forward(architecture);
  const std::string prefix = *architecture + ".";
  family.feed_forward_norm = "post_attention_norm";
  family.qk_norm = QkNorm::kHead;
  family.attention_gate = true;
  family.moe.routing.normalise = true;
  auto taps = ReadSizes(source, prefix, {{"ssm.conv_kernel", &family.conv_taps, kMostDeltaTaps, true}});
  if (!taps) return Forward(taps);
  if (family.conv_taps < 2) {
    return Fail(ErrorCode::kUnsupported, "{}: {}ssm.conv_kernel is {}; at least 2 is supported", source.path(), prefix,
                family.conv_taps);
  }
  auto delta = ReadDeltaNet(source, prefix, family.delta_net.value_or(compute::DeltaNetParams()));
  if (!delta) return Forward(delta);
  family.delta_net = *delta;
  auto config = ReadDecoderConfig(source, context, std::move(family));
  if (!config) return config;
  if (auto marked = MarkRecurrentLayers(source, prefix, &*config); !marked) return Forward(marked);
  return config;
}

}  // namespace inferflux::model
