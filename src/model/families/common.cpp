#include "model/families/common.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/families/metadata_numbers.h"
#include "model/families/read_experts.h"
#include "model/families/read_pooling.h"
#include "model/families/rope_scaling.h"

namespace inferflux::model {
namespace {

// No current model exceeds these sizes, and the product of any two of them fits in 63 bits.
constexpr int32_t kMaxDimension = 1 << 24;
constexpr int32_t kMaxLayers = 4096;
constexpr int32_t kMaxHeadDim = 4096;
constexpr int32_t kMaxContext = 1 << 30;
constexpr float kMaxScale = 1e6f;

Status ReadShape(const ModelSource& source, const std::string& prefix, ModelConfig* config) {
  auto sizes = ReadSizes(source, prefix,
                         {{"embedding_length", &config->hidden, kMaxDimension, true},
                          {"block_count", &config->layers, kMaxLayers, true},
                          {"attention.head_count", &config->heads, kMaxDimension, true},
                          {"feed_forward_length", &config->feed_forward, kMaxDimension, true},
                          {"context_length", &config->context, kMaxContext, true}});
  if (!sizes) return sizes;
  // Layers that predict further tokens come after the model's own, and are not used.
  const auto predicting = source.metadata().GetOr<int64_t>(prefix + "nextn_predict_layers", 0);
  if (!predicting) return Forward(predicting);
  if (*predicting < 0 || *predicting >= config->layers) {
    return Fail(ErrorCode::kDataLoss, "{}: {}nextn_predict_layers is {} of {} layers", source.path(), prefix,
                *predicting, config->layers);
  }
  config->layers -= static_cast<int32_t>(*predicting);
  config->head_dim = config->hidden / config->heads;
  int32_t value_length = 0;
  sizes = ReadSizes(source, prefix,
                    {{"attention.key_length", &config->head_dim, kMaxHeadDim, false},
                     {"attention.value_length", &value_length, kMaxHeadDim, false}});
  if (!sizes) return sizes;
  if (config->head_dim < 1 || config->head_dim > kMaxHeadDim) {
    return Fail(ErrorCode::kDataLoss,
                "{}: {}attention.head_count of {} and {}embedding_length of {} make heads of {} "
                "dimensions, which is not between 1 and {}",
                source.path(), prefix, config->heads, prefix, config->hidden, config->head_dim, kMaxHeadDim);
  }
  if (value_length != 0 && value_length != config->head_dim) {
    return Fail(ErrorCode::kUnsupported, "{}: keys of {} and values of {} dimensions; only equal ones are supported",
                source.path(), config->head_dim, value_length);
  }

  // The vocabulary's size comes from the embedding, because some files omit the key.
  const compute::HostMatrix* embedding = source.Find("token_embd.weight");
  if (embedding == nullptr) {
    return Fail(ErrorCode::kNotFound, "{}: tensor 'token_embd.weight' is missing", source.path());
  }
  if (embedding->rows > kMaxDimension) {
    return Fail(ErrorCode::kDataLoss, "{}: a vocabulary of {} tokens is above the limit of {}", source.path(),
                embedding->rows, kMaxDimension);
  }
  config->vocab_size = static_cast<int32_t>(embedding->rows);
  return {};
}

Status ReadScales(const ModelSource& source, const std::string& prefix, ModelConfig* config) {
  struct Scale {
    const char* key;
    float* value;
    float least, most;
  };
  config->attention_scale = 1.0f / std::sqrt(static_cast<float>(config->head_dim));
  const char* epsilon = config->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  if (!source.metadata().Contains(prefix + epsilon)) {
    return Fail(ErrorCode::kNotFound, "{}: metadata key '{}{}' is missing", source.path(), prefix, epsilon);
  }
  for (const Scale& scale : {Scale{epsilon, &config->norm_epsilon, 0.0f, 1.0f},
                             Scale{"attention.scale", &config->attention_scale, 1e-6f, kMaxScale},
                             Scale{"attn_logit_softcapping", &config->attention_softcap, 0.0f, kMaxScale},
                             Scale{"final_logit_softcapping", &config->logit_softcap, 0.0f, kMaxScale},
                             Scale{"embedding_scale", &config->embedding_scale, 1e-6f, kMaxScale},
                             Scale{"residual_scale", &config->residual_scale, 1e-6f, kMaxScale}}) {
    const auto value = ReadNumber(source, prefix + scale.key, *scale.value, scale.least, scale.most);
    if (!value) return Forward(value);
    *scale.value = *value;
  }
  return {};
}

// Which layers use the window. GGUF gives a period, or one value per layer.
Result<std::vector<bool>> WindowedLayers(const ModelSource& source, const std::string& key, int32_t layers,
                                         int32_t period) {
  std::vector<bool> windowed;
  const auto* entry = source.metadata().Find(key);
  if (entry != nullptr && entry->type == formats::GgufValueType::kArray) {
    const auto listed = source.metadata().Get<std::vector<bool>>(key);
    if (!listed) return listed;
    if (listed->size() < static_cast<size_t>(layers)) {
      return Fail(ErrorCode::kDataLoss, "{}: {} has {} entries for {} layers", source.path(), key, listed->size(),
                  layers);
    }
    return listed;
  }
  if (auto read = ReadSizes(source, "", {{key.c_str(), &period, kMaxLayers, false}}); !read) return Forward(read);
  for (int32_t i = 0; i < layers; ++i) windowed.push_back(period == 0 || i % period < period - 1);
  return windowed;
}

// GGUF gives one number for all layers, or one per layer. If the key is absent, each query head has its own KV head.
Result<std::vector<int32_t>> KvHeads(const ModelSource& source, const std::string& prefix, const ModelConfig& config) {
  const std::string key = prefix + "attention.head_count_kv";
  std::vector<int32_t> heads(static_cast<size_t>(config.layers), config.heads);
  const auto* entry = source.metadata().Find(key);
  if (entry != nullptr && entry->type == formats::GgufValueType::kArray) {
    auto listed = source.metadata().Get<std::vector<int32_t>>(key);
    if (!listed) return listed;
    if (listed->size() != heads.size()) {
      return Fail(ErrorCode::kDataLoss, "{}: {} has {} entries for {} layers", source.path(), key, listed->size(),
                  config.layers);
    }
    heads = std::move(*listed);
  } else {
    int32_t all = config.heads;
    if (auto read = ReadSizes(source, "", {{key.c_str(), &all, kMaxDimension, false}}); !read) return Forward(read);
    std::fill(heads.begin(), heads.end(), all);
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] == 0 && config.conv_taps > 0) continue;  // a layer without attention
    if (heads[i] >= 1 && heads[i] <= config.heads && config.heads % heads[i] == 0) continue;
    return Fail(ErrorCode::kDataLoss, "{}: {} query heads cannot share {} KV heads evenly, in layer {}", source.path(),
                config.heads, heads[i], i);
  }
  if (!config.causal && std::ranges::count(heads, heads[0]) != std::ssize(heads)) {
    return Fail(ErrorCode::kUnsupported, "{}: an encoder whose layers differ in {} is not supported", source.path(),
                key);
  }
  return heads;
}

Status ReadLayerKinds(const ModelSource& source, const std::string& prefix, int32_t window_period,
                      ModelConfig* config) {
  const int32_t rope = config->learned_positions ? kNoRope : 0;
  const auto kv_heads = KvHeads(source, prefix, *config);
  if (!kv_heads) return Forward(kv_heads);
  for (const int32_t heads : *kv_heads) {
    config->layer_kinds.push_back({.kv = {.heads = heads, .head_dim = config->head_dim}, .rope = rope});
  }
  const auto window = source.metadata().GetOr<int64_t>(prefix + "attention.sliding_window", 0);
  if (!window) return Forward(window);
  // A window at least as long as the context has no effect.
  if (*window <= 0 || *window >= config->context) return {};
  const auto windowed =
      WindowedLayers(source, prefix + "attention.sliding_window_pattern", config->layers, window_period);
  if (!windowed) return Forward(windowed);
  for (size_t i = 0; i < config->layer_kinds.size(); ++i) {
    if ((*windowed)[i]) config->layer_kinds[i].kv.window = static_cast<int32_t>(*window);
  }
  return {};
}

}  // namespace

Result<ModelConfig> ReadDecoderConfig(const ModelSource& source, int32_t context, ModelConfig family,
                                      int32_t window_period) {
  ModelConfig config = std::move(family);
  auto architecture = source.metadata().Get<std::string>("general.architecture");
  if (!architecture) return Forward(architecture);
  config.architecture = *architecture;
  const std::string prefix = config.architecture + ".";

  const auto causal = source.metadata().GetOr<bool>(prefix + "attention.causal", config.causal);
  if (!causal) return Forward(causal);
  config.causal = *causal;
  if (auto read = ReadShape(source, prefix, &config); !read) return Forward(read);
  if (auto read = ReadPooling(source, &config); !read) return Forward(read);
  if (auto read = ReadScales(source, prefix, &config); !read) return Forward(read);
  if (auto read = ReadLayerKinds(source, prefix, window_period, &config); !read) return Forward(read);
  if (auto read = ReadExperts(source, &config); !read) return Forward(read);
  if (config.learned_positions) return config;

  if (context == 0) context = config.context;
  auto rope = ReadRope(source, config, context);
  if (!rope) return Forward(rope);
  config.ropes.push_back(std::move(*rope));
  if (source.metadata().Contains(prefix + "rope.scaling.dynamic_factor"))
    config.context = std::max(config.context, context);
  return config;
}

Status RotateWindowedLayersOnly(const ModelSource& source, int32_t window_period, ModelConfig* config) {
  const std::string key = config->architecture + ".attention.sliding_window_pattern";
  const auto windowed = WindowedLayers(source, key, config->layers, window_period);
  if (!windowed) return Forward(windowed);
  for (size_t i = 0; i < config->layer_kinds.size(); ++i) {
    if (!(*windowed)[i]) config->layer_kinds[i].rope = kNoRope;
  }
  return {};
}

Status ReadWindowRope(const ModelSource& source, float base, ModelConfig* config) {
  const auto read = ReadNumber(source, config->architecture + ".rope.freq_base_swa", base, 1.001f, 1e9f);
  if (!read) return Forward(read);
  auto rope = ReadUnscaledRope(source, *config, *read);
  if (!rope) return Forward(rope);
  config->ropes.push_back(std::move(*rope));
  for (LayerKind& kind : config->layer_kinds) {
    if (kind.kv.window > 0) kind.rope = static_cast<int32_t>(config->ropes.size()) - 1;
  }
  return {};
}

}  // namespace inferflux::model
