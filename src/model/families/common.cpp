#include "model/families/common.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/families/latent/read_latents.h"
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

// GGUF gives one number for all layers, or one per layer; layers after the model's own have numbers too.
Result<std::vector<int32_t>> PerLayer(const ModelSource& source, const std::string& key, int32_t layers,
                                      int32_t fallback) {
  const auto* entry = source.metadata().Find(key);
  if (entry != nullptr && entry->type == formats::GgufValueType::kArray) {
    auto listed = source.metadata().Get<std::vector<int32_t>>(key);
    if (!listed) return listed;
    if (std::ssize(*listed) < layers) {
      return Fail(ErrorCode::kDataLoss, "{}: {} has {} entries for {} layers", source.path(), key, listed->size(),
                  layers);
    }
    listed->resize(static_cast<size_t>(layers));
    return listed;
  }
  if (auto read = ReadSizes(source, "", {{key.c_str(), &fallback, kMaxDimension, false}}); !read) return Forward(read);
  return std::vector<int32_t>(static_cast<size_t>(layers), fallback);
}

// The widths of the feed-forward networks; 0 in layers without one.
Result<std::vector<int32_t>> FeedForwardLengths(const ModelSource& source, const std::string& prefix,
                                                const ModelConfig& config) {
  const std::string key = prefix + "feed_forward_length";
  if (!config.attention) return std::vector<int32_t>(static_cast<size_t>(config.layers));
  if (!source.metadata().Contains(key)) {
    return Fail(ErrorCode::kNotFound, "{}: metadata key '{}' is missing", source.path(), key);
  }
  auto lengths = PerLayer(source, key, config.layers, 0);
  if (!lengths) return lengths;
  for (const int32_t length : *lengths) {
    if (length < 0 || length > kMaxDimension) {
      return Fail(ErrorCode::kDataLoss, "{}: {} has {}, which is not between 0 and {}", source.path(), key, length,
                  kMaxDimension);
    }
  }
  return lengths;
}

// From the embedding, because some files omit the key.
Status ReadVocabSize(const ModelSource& source, ModelConfig* config) {
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

Status ReadShape(const ModelSource& source, const std::string& prefix, ModelConfig* config) {
  auto sizes = ReadSizes(source, prefix,
                         {{"embedding_length", &config->hidden, kMaxDimension, true},
                          {"block_count", &config->layers, kMaxLayers, true},
                          {"context_length", &config->context, kMaxContext, true}});
  if (sizes && config->attention) {
    sizes = ReadSizes(source, prefix, {{"attention.head_count", &config->heads, kMaxDimension, true}});
  }
  if (!sizes) return sizes;
  // Layers that predict further tokens come after the model's own, and are not used.
  const auto predicting = source.metadata().GetOr<int64_t>(prefix + "nextn_predict_layers", 0);
  if (!predicting) return Forward(predicting);
  if (*predicting < 0 || *predicting >= config->layers) {
    return Fail(ErrorCode::kDataLoss, "{}: {}nextn_predict_layers is {} of {} layers", source.path(), prefix,
                *predicting, config->layers);
  }
  config->layers -= static_cast<int32_t>(*predicting);
  const auto lengths = FeedForwardLengths(source, prefix, *config);
  if (!lengths) return Forward(lengths);
  config->feed_forward = *std::ranges::max_element(*lengths);
  for (const int32_t length : *lengths)
    config->layer_kinds.push_back({.feed_forward = length > 0, .feed_forward_width = length});
  return ReadVocabSize(source, config);
}

Status ReadHeads(const ModelSource& source, const std::string& prefix, ModelConfig* config) {
  if (!config->attention) return {};
  if (config->latent) return ReadLatents(source, prefix, config);
  config->head_dim = config->hidden / config->heads;
  int32_t value_length = 0;
  auto sizes = ReadSizes(source, prefix,
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
  return {};
}

Status ReadScales(const ModelSource& source, const std::string& prefix, ModelConfig* config) {
  struct Scale {
    const char* key;
    float* value;
    float least, most;
  };
  if (!config->latent) {  // ReadLatents has set it
    config->attention_scale = 1.0f / std::sqrt(static_cast<float>(std::max(1, config->head_dim)));
  }
  constexpr const char *kLayerNorm = "attention.layer_norm_epsilon", *kRmsNorm = "attention.layer_norm_rms_epsilon";
  const char* epsilon = config->layer_norm ? kLayerNorm : kRmsNorm;
  // Of some models, config.json gives the other norm's.
  const char* other = config->layer_norm ? kRmsNorm : kLayerNorm;
  if (!source.metadata().Contains(prefix + epsilon) && source.metadata().Contains(prefix + other)) epsilon = other;
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

// If the key is absent, each query head has its own KV head.
Result<std::vector<int32_t>> KvHeads(const ModelSource& source, const std::string& prefix, const ModelConfig& config) {
  const std::string key = prefix + "attention.head_count_kv";
  if (!config.attention) return std::vector<int32_t>(static_cast<size_t>(config.layers));
  auto heads = PerLayer(source, key, config.layers, config.heads);
  if (!heads) return heads;
  for (size_t i = 0; i < heads->size(); ++i) {
    const int32_t of_layer = (*heads)[i];
    if (of_layer == 0 && config.conv_taps > 0) continue;  // a layer without attention
    if (of_layer >= 1 && of_layer <= config.heads && config.heads % of_layer == 0) continue;
    return Fail(ErrorCode::kDataLoss, "{}: {} query heads cannot share {} KV heads evenly, in layer {}", source.path(),
                config.heads, of_layer, i);
  }
  if (!config.causal && std::ranges::count(*heads, (*heads)[0]) != std::ssize(*heads)) {
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
  for (size_t i = 0; i < kv_heads->size(); ++i) {
    LayerKind& kind = config->layer_kinds[i];
    kind.kv = {.heads = (*kv_heads)[i], .head_dim = config->head_dim};
    if (config->latent) kind.kv = {.heads = 1, .head_dim = config->head_dim, .latent = config->latent->rank};
    kind.rope = rope;
    kind.recurrent = kind.kv.heads == 0;
  }
  const auto window = source.metadata().GetOr<int64_t>(prefix + "attention.sliding_window", 0);
  if (!window) return Forward(window);
  // An encoder's window of n tokens reaches as far back as forward, as llama.cpp's symmetric windows do.
  const int64_t reach = config->causal ? *window : *window / 2 + 1;
  // A window at least as long as the context has no effect.
  if (*window <= 0 || reach >= config->context) return {};
  const auto windowed =
      WindowedLayers(source, prefix + "attention.sliding_window_pattern", config->layers, window_period);
  if (!windowed) return Forward(windowed);
  for (size_t i = 0; i < config->layer_kinds.size(); ++i) {
    if ((*windowed)[i]) config->layer_kinds[i].kv.window = static_cast<int32_t>(reach);
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
  if (auto read = ReadHeads(source, prefix, &config); !read) return Forward(read);
  if (auto read = ReadPooling(source, &config); !read) return Forward(read);
  if (auto read = ReadScales(source, prefix, &config); !read) return Forward(read);
  if (auto read = ReadLayerKinds(source, prefix, window_period, &config); !read) return Forward(read);
  if (auto read = ReadExperts(source, &config); !read) return Forward(read);
  if (config.learned_positions || !config.attention) return config;

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

Status ReadWindowRope(const ModelSource& source, float base, int32_t window_period, ModelConfig* config) {
  const auto read = ReadNumber(source, config->architecture + ".rope.freq_base_swa", base, 1.001f, 1e9f);
  if (!read) return Forward(read);
  auto rope = ReadUnscaledRope(source, *config, *read);
  if (!rope) return Forward(rope);
  config->ropes.push_back(std::move(*rope));
  const std::string prefix = config->architecture + ".attention.sliding_window";
  const auto window = source.metadata().GetOr<int64_t>(prefix, 0);
  if (!window) return Forward(window);
  const auto* entry = source.metadata().Find(prefix + "_pattern");
  const bool listed = entry != nullptr && entry->type == formats::GgufValueType::kArray;
  std::vector<bool> windowed(config->layer_kinds.size());
  if (*window > 0 && (listed || window_period > 0)) {
    auto read = WindowedLayers(source, prefix + "_pattern", config->layers, window_period);
    if (!read) return Forward(read);
    windowed = std::move(*read);
  }
  for (size_t i = 0; i < config->layer_kinds.size(); ++i) {
    LayerKind& kind = config->layer_kinds[i];
    if (windowed[i] || kind.kv.window > 0) kind.rope = static_cast<int32_t>(config->ropes.size()) - 1;
  }
  return {};
}

}  // namespace inferflux::model
