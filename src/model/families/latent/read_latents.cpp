#include "model/families/latent/read_latents.h"

#include <fmt/format.h>

#include <cmath>

#include "model/families/common.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr int32_t kMaxRank = 1 << 16;
constexpr int32_t kMaxDim = 4096;

// YaRN's share in the scale of attention: (0.1 * mscale_all_dim * ln(factor) + 1) squared, once for q and once for k.
Result<float> YarnScale(const ModelSource& source, const std::string& prefix) {
  const std::string scaling = prefix + "rope.scaling.";
  if (!source.metadata().Contains(scaling + "yarn_log_multiplier")) return 1.0f;
  const auto multiplier = ReadNumber(source, scaling + "yarn_log_multiplier", 0.0f, 0.0f, 1e6f);
  if (!multiplier) return multiplier;
  const auto factor = ReadNumber(source, scaling + "factor", 1.0f, 1e-6f, 1e9f);
  if (!factor) return factor;
  const float magnitude = *factor > 1.0f ? *multiplier * std::log(*factor) + 1.0f : 1.0f;
  return magnitude * magnitude;
}

// Of `config`, whose layers are read; finds the layers that have an indexer.
Status ReadIndexer(const ModelSource& source, compute::RopeStyle style, ModelConfig* config) {
  IndexerConfig indexer{.rope_style = style};
  auto sizes = ReadSizes(source, config->architecture + ".attention.indexer.",
                         {{"head_count", &indexer.heads, kMaxDim, true},
                          {"key_length", &indexer.head_dim, kMaxDim, true},
                          {"top_k", &indexer.top, 1 << 30, true}});
  if (!sizes) return sizes;
  if (indexer.head_dim < config->latent->rotated) {
    return Fail(ErrorCode::kDataLoss, "{}: the indexer's heads of {} dimensions are narrower than the rotated part, {}",
                source.path(), indexer.head_dim, config->latent->rotated);
  }
  if (config->latent->query_rank == 0) {
    return Fail(ErrorCode::kUnsupported,
                "{}: an indexer without {}.attention.q_lora_rank, of which it makes its queries", source.path(),
                config->architecture);
  }
  for (size_t i = 0; i < config->layer_kinds.size(); ++i) {
    LayerKind& kind = config->layer_kinds[i];
    kind.selects = source.Find(fmt::format("blk.{}.indexer.attn_k.weight", i)) != nullptr;
    if (kind.selects) kind.kv.index = indexer.head_dim;
  }
  if (!config->layer_kinds.front().selects) {
    return Fail(ErrorCode::kNotFound,
                "{}: tensor 'blk.0.indexer.attn_k.weight' is missing; the first layer has no layer "
                "before it whose selection it could use",
                source.path());
  }
  config->indexer = indexer;
  return {};
}

}  // namespace

Status ReadLatents(const ModelSource& source, const std::string& prefix, ModelConfig* config) {
  if (!source.metadata().Contains(prefix + "attention.key_length_mla")) {
    return Fail(ErrorCode::kUnsupported,
                "{}: metadata key '{}attention.key_length_mla' is missing: an early converter wrote keys and values "
                "instead of latents; convert the model again with a current one, or fetch a newer file",
                source.path(), prefix);
  }
  LatentConfig latent;
  int32_t key = 0, head_dim = 0;
  auto sizes = ReadSizes(source, prefix,
                         {{"attention.kv_lora_rank", &latent.rank, kMaxRank, true},
                          {"attention.q_lora_rank", &latent.query_rank, kMaxRank, false},
                          {"attention.key_length_mla", &key, kMaxDim, true},
                          {"attention.value_length_mla", &latent.value, kMaxDim, true},
                          {"rope.dimension_count", &latent.rotated, kMaxDim, true},
                          {"attention.key_length", &head_dim, kMaxRank + kMaxDim, false}});
  if (!sizes) return sizes;
  if (latent.rotated >= key) {
    return Fail(ErrorCode::kDataLoss, "{}: {}rope.dimension_count is {}, but {}attention.key_length_mla is {}",
                source.path(), prefix, latent.rotated, prefix, key);
  }
  latent.plain = key - latent.rotated;
  config->head_dim = latent.rank + latent.rotated;
  if (head_dim != 0 && head_dim != config->head_dim) {
    return Fail(ErrorCode::kDataLoss,
                "{}: {}attention.key_length is {}, but a latent of {} and a rotated key of {} make {}", source.path(),
                prefix, head_dim, latent.rank, latent.rotated, config->head_dim);
  }
  const auto yarn = YarnScale(source, prefix);
  if (!yarn) return Forward(yarn);
  config->attention_scale = *yarn / std::sqrt(static_cast<float>(key));
  config->latent = latent;
  return {};
}

Result<ModelConfig> ReadSparseDecoder(const ModelSource& source, int32_t context, compute::RopeStyle style) {
  auto config =
      ReadDecoderConfig(source, context,
                        {.rope_style = compute::RopeStyle::kInterleaved,
                         .latent = LatentConfig{},
                         .moe = {.shared_gate = false, .routing = {.score = compute::ExpertScore::kSigmoid}}});
  if (!config) return config;
  if (auto read = ReadIndexer(source, style, &*config); !read) return Forward(read);
  return config;
}

}  // namespace inferflux::model
