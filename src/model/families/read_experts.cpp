#include "model/families/read_experts.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr int32_t kMaxDimension = 1 << 24;
constexpr int32_t kMaxExperts = 1 << 16;
constexpr int32_t kMaxLayers = 4096;

// GGUF's expert_gating_func: 1 is softmax, 2 is sigmoid.
Status ReadScore(const ModelSource& source, const std::string& key, compute::ExpertScore* score) {
  constexpr int64_t kSoftmax = 1, kSigmoid = 2;
  const int64_t own = *score == compute::ExpertScore::kSigmoid ? kSigmoid : kSoftmax;
  const auto value = source.metadata().GetOr<int64_t>(key, own);
  if (!value) return Forward(value);
  if (*value != kSoftmax && *value != kSigmoid) {
    return Fail(ErrorCode::kUnsupported, "{}: {} is {}; supported are 1 (softmax) and 2 (sigmoid)", source.path(), key,
                *value);
  }
  *score = *value == kSigmoid ? compute::ExpertScore::kSigmoid : compute::ExpertScore::kSoftmax;
  return {};
}

Status ReadRouting(const ModelSource& source, const std::string& prefix, int32_t experts,
                   compute::RoutingParams* routing) {
  const auto normalise = source.metadata().GetOr<bool>(prefix + "expert_weights_norm", routing->normalise);
  if (!normalise) return Forward(normalise);
  routing->normalise = *normalise;
  if (auto read = ReadScore(source, prefix + "expert_gating_func", &routing->score); !read) return read;
  const auto scale = ReadNumber(source, prefix + "expert_weights_scale", routing->scale, 0.0f, 1e6f);
  if (!scale) return Forward(scale);
  routing->scale = *scale == 0.0f ? 1.0f : *scale;  // some converters write 0 for none
  auto sizes = ReadSizes(source, prefix,
                         {{"expert_group_count", &routing->groups, kMaxExperts, false},
                          {"expert_group_used_count", &routing->used_groups, kMaxExperts, false}});
  if (!sizes) return sizes;
  if (experts % routing->groups != 0 || routing->used_groups > routing->groups) {
    return Fail(ErrorCode::kDataLoss, "{}: {} experts cannot be in {} groups, of which {} are used", source.path(),
                experts, routing->groups, routing->used_groups);
  }
  const int32_t eligible = experts / routing->groups * routing->used_groups;
  if (routing->used > eligible) {
    return Fail(ErrorCode::kDataLoss, "{}: {}expert_used_count is {}, but there are {} experts to choose from",
                source.path(), prefix, routing->used, eligible);
  }
  return {};
}

// The first layers are dense, and of the others every `step`th has experts. Checkpoints may also list dense layers,
// which is not in GGUF's metadata: these have no router.
Status ReadDenseLayers(const ModelSource& source, const std::string& prefix, ModelConfig* config) {
  const std::string key = prefix + "leading_dense_block_count";
  const auto leading = source.metadata().GetOr<int64_t>(key, 0);
  if (!leading) return Forward(leading);
  if (*leading < 0 || *leading > config->layers) {
    return Fail(ErrorCode::kDataLoss, "{}: {} is {} of {} layers", source.path(), key, *leading, config->layers);
  }
  int32_t step = 1;
  if (auto read = ReadSizes(source, prefix, {{"interleave_moe_layer_step", &step, kMaxLayers, false}}); !read)
    return read;
  for (int32_t i = 0; i < config->layers; ++i) {
    const std::string layer = fmt::format("blk.{}.", i);
    const bool routed = source.Find(layer + "ffn_gate_inp.weight") != nullptr;
    config->layer_kinds[static_cast<size_t>(i)].dense =
        i < *leading || (i + 1) % step != 0 || (!routed && source.Find(layer + "ffn_up.weight") != nullptr);
  }
  return {};
}

}  // namespace

Status ReadExperts(const ModelSource& source, ModelConfig* config) {
  const std::string prefix = config->architecture + ".";
  MoeConfig& moe = config->moe;
  const auto experts = source.metadata().GetOr<int64_t>(prefix + "expert_count", 0);
  if (!experts) return Forward(experts);
  if (*experts == 0) return {};
  moe.feed_forward = config->feed_forward;
  auto sizes = ReadSizes(source, prefix,
                         {{"expert_count", &moe.experts, kMaxExperts, true},
                          {"expert_used_count", &moe.routing.used, kMaxExperts, true},
                          {"expert_feed_forward_length", &moe.feed_forward, kMaxDimension, false}});
  if (!sizes) return sizes;
  if (moe.routing.used > moe.experts) {
    return Fail(ErrorCode::kDataLoss, "{}: {}expert_used_count is {}, but {}expert_count is {}", source.path(), prefix,
                moe.routing.used, prefix, moe.experts);
  }
  const auto count = source.metadata().GetOr<int64_t>(prefix + "expert_shared_count", 0);
  if (!count) return Forward(count);
  if (*count < 0 || *count > kMaxExperts || *count * moe.feed_forward > kMaxDimension) {
    return Fail(ErrorCode::kDataLoss, "{}: {}expert_shared_count is {}, with {} values each", source.path(), prefix,
                *count, moe.feed_forward);
  }
  int32_t shared = static_cast<int32_t>(*count) * moe.feed_forward;
  sizes = ReadSizes(source, prefix, {{"expert_shared_feed_forward_length", &shared, kMaxDimension, false}});
  if (!sizes) return sizes;
  moe.shared_feed_forward = shared;
  if (auto read = ReadRouting(source, prefix, moe.experts, &moe.routing); !read) return read;
  return ReadDenseLayers(source, prefix, config);
}

}  // namespace inferflux::model
