#include "model/families/latent/prepare_latents.h"

#include <algorithm>
#include <string>
#include <vector>

namespace inferflux::model {
namespace {

// Layers without experts: the first ones, or those of a list. Others than the first are found by their tensors.
Status SetDenseLayers(formats::HfConfig& config) {
  const auto kinds = config.raw.Find<std::vector<std::string>>("mlp_layer_types");
  if (!kinds) return Forward(kinds);
  if (*kinds) {
    if ((*kinds)->size() != config.layers) {
      return Fail(ErrorCode::kDataLoss, "{}: mlp_layer_types has {} entries for {} layers", config.raw.source(),
                  (*kinds)->size(), config.layers);
    }
    const auto sparse = std::ranges::find_if(**kinds, [](const std::string& kind) { return kind != "dense"; });
    config.leading_dense_layers = static_cast<uint32_t>(sparse - (*kinds)->begin());
  }
  config.leading_dense_layers = std::min(config.leading_dense_layers.value_or(0), config.layers);
  return {};
}

}  // namespace

Status PrepareLatents(formats::HfConfig& config) {
  formats::HfLatents latents;
  constexpr uint32_t kMost = 1 << 16;
  for (const auto& [key, size] : {std::pair{"kv_lora_rank", &latents.rank},
                                  {"qk_nope_head_dim", &latents.plain_rows},
                                  {"v_head_dim", &latents.value_rows}}) {
    const auto value = config.raw.Get<uint32_t>(key);
    if (!value) return Forward(value);
    if (*value < 1 || *value > kMost) {
      return Fail(ErrorCode::kDataLoss, "{}: {} is {}; it must be 1 to {}", config.raw.source(), key, *value, kMost);
    }
    *size = *value;
  }
  if (config.kv_heads != config.heads) {
    return Fail(ErrorCode::kUnsupported,
                "{}: num_key_value_heads is {}; latents are shared by all {} heads, so only that number is supported",
                config.raw.source(), config.kv_heads, config.heads);
  }
  if (const auto& rope = config.rope_scaling;
      rope && rope->type != "yarn" && rope->mscale_all_dim.value_or(0.0) != 0.0) {
    return Fail(ErrorCode::kUnsupported, "{}: mscale_all_dim with RoPE scaling '{}' is not supported, only with 'yarn'",
                config.raw.source(), rope->type);
  }
  config.kv_heads = 1;
  config.latents = latents;
  return SetDenseLayers(config);
}

Status PrepareSigmoidLatents(formats::HfConfig& config) {
  config.expert_gating = formats::HfExpertGating::kSigmoid;
  return PrepareLatents(config);
}

Checkpoint SparseCheckpoint(std::string_view model_type, std::string_view keys) {
  return {.model_types = {model_type},
          .keys = keys,
          .tensors = {kLatentTensors, kSharedExpertTensors, kExpertTensors, kFusedExpertTensors, kDecoderTensors},
          .predicting_layers = true,
          .counts = {{"q_lora_rank", "attention.q_lora_rank"},
                     {"index_n_heads", "attention.indexer.head_count"},
                     {"index_head_dim", "attention.indexer.key_length"},
                     {"index_topk", "attention.indexer.top_k"}},
          .prepare = PrepareSigmoidLatents};
}

}  // namespace inferflux::model
