#include "model/families/common.h"

#include <cmath>
#include <string>

#include "model/families/rope_scaling.h"

namespace inferflux::model {
namespace {

// Sizes beyond these are no model of today, and every product of two of them fits in 63 bits.
constexpr int32_t kMaxDimension = 1 << 24;
constexpr int32_t kMaxLayers = 4096;
constexpr int32_t kMaxHeadDim = 4096;

struct Size {
  const char* key;
  int32_t* value;
  int32_t limit;
  bool required;
};

Status ReadSizes(const ModelSource& source, const std::string& prefix, std::initializer_list<Size> sizes) {
  for (const Size& size : sizes) {
    const std::string key = prefix + size.key;
    if (!size.required && !source.metadata().Contains(key)) continue;
    const auto value = source.metadata().Get<int64_t>(key);
    if (!value) return tl::make_unexpected(value.error());
    if (*value < 1 || *value > size.limit) {
      return Fail(ErrorCode::kDataLoss, "{}: {} is {}, which is not between 1 and {}", source.path(), key, *value,
                  size.limit);
    }
    *size.value = static_cast<int32_t>(*value);
  }
  return {};
}

}  // namespace

Result<ModelConfig> ReadDecoderConfig(const ModelSource& source) {
  ModelConfig config;
  auto architecture = source.metadata().Get<std::string>("general.architecture");
  if (!architecture) return Forward(architecture);
  config.architecture = *architecture;
  const std::string prefix = config.architecture + ".";

  auto sizes = ReadSizes(source, prefix,
                         {{"embedding_length", &config.hidden, kMaxDimension, true},
                          {"block_count", &config.layers, kMaxLayers, true},
                          {"attention.head_count", &config.heads, kMaxDimension, true},
                          {"feed_forward_length", &config.feed_forward, kMaxDimension, true},
                          {"context_length", &config.context, 1 << 30, true}});
  if (!sizes) return Forward(sizes);
  config.kv_heads = config.heads;
  config.head_dim = config.hidden / config.heads;
  int32_t value_length = 0;
  sizes = ReadSizes(source, prefix,
                    {{"attention.head_count_kv", &config.kv_heads, kMaxDimension, false},
                     {"attention.key_length", &config.head_dim, kMaxHeadDim, false},
                     {"attention.value_length", &value_length, kMaxHeadDim, false}});
  if (!sizes) return Forward(sizes);
  if (config.head_dim < 1 || config.head_dim > kMaxHeadDim) {
    return Fail(ErrorCode::kDataLoss, "{}: {} heads of {} dimensions in all leave none for a head", source.path(),
                config.heads, config.hidden);
  }
  if (value_length != 0 && value_length != config.head_dim) {
    return Fail(ErrorCode::kUnsupported, "{}: keys of {} and values of {} dimensions; only equal ones are supported",
                source.path(), config.head_dim, value_length);
  }
  if (config.heads % config.kv_heads != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: {} query heads cannot share {} KV heads evenly", source.path(), config.heads,
                config.kv_heads);
  }

  // The vocabulary's size is the embedding's own: some files leave the key out.
  const compute::HostMatrix* embedding = source.Find("token_embd.weight");
  if (embedding == nullptr) return Fail(ErrorCode::kNotFound, "{}: tensor 'token_embd.weight' is missing", source.path());
  if (embedding->rows > kMaxDimension) {
    return Fail(ErrorCode::kDataLoss, "{}: a vocabulary of {} tokens is above the limit of {}", source.path(),
                embedding->rows, kMaxDimension);
  }
  config.vocab_size = static_cast<int32_t>(embedding->rows);

  auto epsilon = source.metadata().Get<float>(prefix + "attention.layer_norm_rms_epsilon");
  if (!epsilon) return Forward(epsilon);
  if (!(*epsilon >= 0.0f && *epsilon < 1.0f)) {
    return Fail(ErrorCode::kDataLoss, "{}: {}attention.layer_norm_rms_epsilon is {}, which is not between 0 and 1",
                source.path(), prefix, *epsilon);
  }
  config.norm_epsilon = *epsilon;
  config.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));

  auto window = source.metadata().GetOr<int64_t>(prefix + "attention.sliding_window", 0);
  if (!window) return Forward(window);
  // A window at least as long as the context hides nothing.
  if (*window > 0 && *window < config.context) config.sliding_window = static_cast<int32_t>(*window);

  auto rope = ReadRope(source, prefix, config.head_dim);
  if (!rope) return Forward(rope);
  config.rope = std::move(*rope);
  return config;
}

}  // namespace inferflux::model
