#include "model/shard.h"

#include <algorithm>

#include "formats/tensor_type.h"

namespace inferflux::model {
namespace {

// What keeps a model from being split; empty: nothing.
std::string WhyWhole(const ModelConfig& config) {
  if (!config.causal) return "it is an encoder";
  if (config.pooling.scores() || !config.head.empty()) return "it has a head for pooled states";
  if (config.moe.experts > 0) return "it has experts";
  if (config.latent) return "its attention has latents";
  if (IsRecurrent(config)) return "it has recurrent layers";
  if (config.attention_sinks) return "its attention has sinks";
  if (config.distance_biases) return "its attention has biases by distance";
  if (config.attention_gate) return "its attention has a gate";
  if (config.altup) return "its residual state has several streams";
  if (config.layer_input > 0) return "its layers have inputs of their own from the tokens";
  for (const LayerKind& kind : config.layer_kinds) {
    if (kind.kv_layer != kOwnKv) return "some of its layers read the keys and values of others";
    if (kind.gate_cut) return "a cut of its gates depends on all of their values";
    if (kind.kv.heads == 0 || !kind.feed_forward) return "some of its layers lack attention or a feed-forward network";
  }
  return {};
}

// Also what only keeps tensors from being split.
std::string WhyTensorsAreWhole(const ModelConfig& config, const ModelSource& source) {
  if (config.qk_norm == QkNorm::kWhole) return "its norms of queries and keys are over all heads";
  if (source.Find("blk.0.attn_qkv.weight") != nullptr) return "a tensor of its file stacks queries, keys and values";
  for (const LayerKind& kind : config.layer_kinds) {
    if (kind.feed_forward_width != 0 && kind.feed_forward_width != config.feed_forward)
      return "its feed-forward networks have several widths";
  }
  if (config.gated && source.Find("blk.0.ffn_gate.weight") == nullptr) return "a tensor of its file stacks gate and up";
  return {};
}

// Inputs of ffn_down are cut between the blocks of its type.
int64_t FeedForwardUnit(const ModelConfig& config, const ModelSource& source) {
  int64_t unit = 1;
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    const auto* down = source.Find("blk." + std::to_string(layer) + ".ffn_down.weight");
    if (down != nullptr) unit = std::max<int64_t>(unit, formats::Traits(down->type).block_elements);
  }
  return unit;
}

Status SplitTensors(const ModelSource& source, int32_t rank, int32_t ranks, ModelConfig& config, Shard& shard) {
  const auto refuse = [&](int64_t number, std::string_view what) {
    return Fail(ErrorCode::kUnsupported,
                "{}: {} ranks cannot share {} {} of '{}' evenly; choose a number of ranks that divides them",
                source.path(), ranks, number, what, config.architecture);
  };
  if (config.heads % ranks != 0) return refuse(config.heads, "attention heads");
  for (LayerKind& kind : config.layer_kinds) {
    if (kind.kv.heads % ranks != 0) return refuse(kind.kv.heads, "KV heads");
    kind.kv.heads /= ranks;
  }
  const int64_t unit = FeedForwardUnit(config, source);
  if (config.feed_forward / unit < ranks) {
    return refuse(config.feed_forward / unit, fmt::format("blocks of {} hidden values", unit));
  }
  if (config.vocab_size < ranks) return refuse(config.vocab_size, "tokens");
  config.heads /= ranks;
  shard.feed_forward = ShareOf(config.feed_forward, unit, rank, ranks);
  shard.vocab_size = config.vocab_size;
  config.feed_forward = static_cast<int32_t>(shard.feed_forward.count);
  return {};
}

Status SplitLayers(const ModelSource& source, int32_t rank, int32_t ranks, ModelConfig& config, Shard& shard) {
  if (config.layers < ranks) {
    return Fail(ErrorCode::kUnsupported, "{}: {} ranks cannot share {} layers of '{}'", source.path(), ranks,
                config.layers, config.architecture);
  }
  const Run own = ShareOf(config.layers, 1, rank, ranks);
  shard.first_layer = static_cast<int32_t>(own.first);
  config.layers = static_cast<int32_t>(own.count);
  const auto first = config.layer_kinds.begin() + own.first;
  config.layer_kinds = std::vector<LayerKind>(first, first + own.count);
  return {};
}

}  // namespace

Run ShareOf(int64_t of, int64_t unit, int32_t rank, int32_t ranks) {
  if (ranks == 1) return of;
  const int64_t units = of / unit;
  const int64_t first = units * rank / ranks * unit;
  const int64_t end = rank + 1 == ranks ? of : units * (rank + 1) / ranks * unit;
  return Run(first, end - first, of);
}

std::vector<int64_t> Shard::VocabularyCounts() const {
  std::vector<int64_t> out;
  for (int32_t each = 0; splits_tensors() && each < parallelism.tensor; ++each) {
    out.push_back(Vocabulary(each).count);
  }
  return out;
}

Result<ShardedConfig> ShardConfig(ModelConfig config, const ModelSource& source, const Parallelism& parallelism,
                                  int32_t rank) {
  Shard shard{.rank = rank, .parallelism = parallelism};
  if (parallelism.ranks() == 1) return ShardedConfig{std::move(config), shard};
  if (parallelism.tensor > 1 && parallelism.pipeline > 1) {
    return Fail(ErrorCode::kUnsupported,
                "{} ranks by tensor and {} by pipeline parallelism: set one of them to 1, they are not combined",
                parallelism.tensor, parallelism.pipeline);
  }
  std::string why = WhyWhole(config);
  if (why.empty() && shard.splits_tensors()) why = WhyTensorsAreWhole(config, source);
  if (!why.empty()) {
    return Fail(ErrorCode::kUnsupported, "{}: ranks cannot share a model of '{}': {}", source.path(),
                config.architecture, why);
  }
  const Status split = shard.splits_tensors() ? SplitTensors(source, rank, parallelism.tensor, config, shard)
                                              : SplitLayers(source, rank, parallelism.pipeline, config, shard);
  if (!split) return Forward(split);
  return ShardedConfig{std::move(config), shard};
}

}  // namespace inferflux::model
