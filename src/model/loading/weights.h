// A model's weights on one device, loaded from GGUF's tensor names.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/layers/dense_beside_experts.h"
#include "model/layers/distance_biases.h"
#include "model/layers/head.h"
#include "model/layers/layer_forward.h"
#include "model/layers/moe.h"
#include "model/loading/weight_loader.h"

namespace inferflux::model {

template <compute::Backend B>
struct ModelWeights {
  typename B::Table embedding;
  std::optional<typename B::Table> positions;    // [context, hidden], if positions are learned
  std::optional<compute::Buffer<B>> token_type;  // [1, hidden]: of the first type, if tokens have types
  std::optional<typename B::Table> token_types;  // [types, hidden], if there are several
  std::optional<Norm<B>> embedding_norm;
  std::optional<LayerInputTable<B>> layer_inputs;
  std::optional<AltUpStreams<B>> streams;
  std::optional<typename B::Table> query_growth;      // [context, 1]
  std::optional<compute::Buffer<B>> distance_biases;  // of all layers' attention
  std::vector<LayerWeights<B>> layers;
  std::optional<Norm<B>> output_norm;
  // The embedding if the file has no output tensor; none for encoders, classifiers and the later ranks of a pipeline.
  std::optional<Linear<B>> output;
  std::vector<HeadLayerWeights<B>> head;
};

template <compute::Backend B>
Result<std::unique_ptr<FeedForward<B>>> LoadFeedForward(const WeightLoader<B>& loader, const std::string& prefix,
                                                        const LayerKind& kind) {
  const ModelConfig& config = loader.config();
  const int32_t width = kind.feed_forward_width > 0 ? kind.feed_forward_width : config.feed_forward;
  if (config.moe.experts > 0 && !kind.dense) {
    if constexpr (compute::MoeRouting<B> && compute::Activations<B>) {
      if (config.moe.beside_dense)
        return Own<DenseBesideExperts<B>, B>(DenseBesideExperts<B>::Load(loader, prefix, width));
      return Own<MoeFeedForward<B>, B>(MoeFeedForward<B>::Load(loader, prefix));
    } else {
      return MissingConcept<B>(config, "MoeRouting");
    }
  }
  const Shard& shard = loader.shard();
  return LoadNetwork<B>(loader, prefix, "", shard.splits_tensors() ? shard.feed_forward : Run(width), kind);
}

template <compute::Backend B>
Status LoadRecurrent(typename B::Context& context, const WeightLoader<B>& loader, const std::string& prefix,
                     LayerWeights<B>* out) {
  const auto keep = [](auto loaded, auto& into) -> Status {
    if (!loaded) return Forward(loaded);
    into = std::move(*loaded);
    return {};
  };
  const ModelConfig& config = loader.config();
  if (config.delta_net) return keep(LoadDeltaNet<B>(loader, prefix), out->delta_net);
  if (!config.state_space) return keep(LoadShortConv<B>(loader, prefix), out->conv);
  if constexpr (compute::TensorScales<B> && compute::SelectiveScans<B>) {
    return keep(LoadStateSpace<B>(context, loader, prefix), out->state_space);
  } else {
    return MissingConcept<B>(config, "SelectiveScans");
  }
}

template <compute::Backend B>
Result<LayerWeights<B>> LoadLayer(typename B::Context& context, const WeightLoader<B>& loader, int32_t layer) {
  const int32_t number = loader.shard().first_layer + layer;
  const std::string prefix = "blk." + std::to_string(number) + ".";
  const ModelConfig& config = loader.config();
  const LayerKind& kind = config.layer_kinds[layer];
  const bool plain = number == 0 && !config.first_norm;
  auto attention_norms = loader.LoadSubLayerNorms(
      {plain ? "" : prefix + config.attention_norm, prefix + "post_attention_norm", prefix + "attn_output_norm"});
  if (!attention_norms) return Forward(attention_norms);
  LayerWeights<B> out{.attention_norms = std::move(*attention_norms)};
  if (kind.recurrent) {
    if (auto loaded = LoadRecurrent<B>(context, loader, prefix, &out); !loaded) return Forward(loaded);
  }
  if (kind.kv.latent > 0) {
    if constexpr (kHasLatents<B>) {
      auto latents = LoadLatents<B>(loader, prefix, kind.selects);
      if (!latents) return Forward(latents);
      out.latents = std::move(*latents);
    } else {
      return MissingConcept<B>(config, "LatentKv");
    }
  } else if (kind.kv.heads > 0) {
    auto attention = LoadAttention<B>(loader, prefix, kind);
    if (!attention) return Forward(attention);
    out.attention = std::move(*attention);
  }
  if (!kind.feed_forward) return out;
  const std::string& name = config.feed_forward_norm;
  if (kind.recurrent || kind.kv.heads > 0) {  // otherwise the layer's only norm is loaded
    auto norms = loader.LoadSubLayerNorms(
        {name.empty() ? name : prefix + name, prefix + "post_ffw_norm", prefix + "layer_output_norm"});
    if (!norms) return Forward(norms);
    out.feed_forward_norms = std::move(*norms);
  }
  auto feed_forward = LoadFeedForward<B>(loader, prefix, kind);
  if (!feed_forward) return Forward(feed_forward);
  out.feed_forward = std::move(*feed_forward);
  if (config.altup) {
    if constexpr (kHasAltUp<B>) {
      auto altup = LoadAltUp<B>(context, loader, prefix);
      if (!altup) return Forward(altup);
      out.altup = std::move(*altup);
    }
  }
  if (config.layer_input > 0) {
    auto input = LoadLayerInput<B>(loader, prefix);
    if (!input) return Forward(input);
    out.layer_input = std::move(*input);
  }
  if (const std::string scale = prefix + "layer_output_scale.weight"; loader.Contains(scale)) {
    const auto value = loader.LoadValues(scale, 1, 1);
    if (!value) return Forward(value);
    out.output_scale = value->front();
  }
  return out;
}

// The tensors added to the tokens' embeddings, and the norm of the sum.
template <compute::Backend B>
Status LoadInput(const WeightLoader<B>& loader, ModelWeights<B>* weights) {
  const ModelConfig& config = loader.config();
  if (config.learned_positions) {
    auto table = loader.LoadTable("position_embd.weight", config.context, config.hidden);
    if (!table) return Forward(table);
    weights->positions = std::move(*table);
  }
  if (config.token_types > 0) {
    auto first = loader.LoadFirstRow("token_types.weight", config.hidden);
    if (!first) return Forward(first);
    weights->token_type = std::move(*first);
  }
  if (config.token_types > 1) {
    auto table = loader.LoadTable("token_types.weight", config.token_types, config.hidden);
    if (!table) return Forward(table);
    weights->token_types = std::move(*table);
  }
  if (config.layer_input > 0) {
    auto table = LoadLayerInputTable<B>(loader);
    if (!table) return Forward(table);
    weights->layer_inputs = std::move(*table);
  }
  if (config.embedding_norm) {
    auto norm = loader.LoadNorm("token_embd_norm", config.hidden);
    if (!norm) return Forward(norm);
    weights->embedding_norm = std::move(*norm);
  }
  return {};
}

// The biases of attention for all distances of a sequence.
template <compute::Backend B>
Status LoadDistanceBiases(typename B::Context& context, const WeightLoader<B>& loader, ModelWeights<B>* weights) {
  const ModelConfig& config = loader.config();
  if (!config.distance_biases) return {};
  const auto buckets = loader.LoadValues("attn_rel_b.weight", kDistanceBuckets, config.heads);
  if (!buckets) return Forward(buckets);
  weights->distance_biases = B::LoadVector(context, SpreadBuckets(*buckets, config.heads, config.context));
  return {};
}

// The tensors after the last layer.
template <compute::Backend B>
Status LoadOutput(const WeightLoader<B>& loader, ModelWeights<B>* weights) {
  const ModelConfig& config = loader.config();
  const Shard& shard = loader.shard();
  if (config.final_norm && shard.last_stage()) {
    auto norm = loader.LoadNorm(config.output_norm, config.hidden);
    if (!norm) return Forward(norm);
    weights->output_norm = std::move(*norm);
  }
  if (config.causal && !config.pooling.scores() && shard.first_stage()) {
    const char* name = loader.Contains("output.weight") ? "output" : "token_embd";
    const Run tokens = shard.splits_tensors() ? shard.Vocabulary(shard.rank) : Run(config.vocab_size);
    auto output = loader.LoadLinear({{name, tokens}}, config.hidden);
    if (!output) return Forward(output);
    output->GatherOverRanks(shard.VocabularyCounts());
    weights->output = std::move(*output);
  }
  for (const HeadLayer& layer : config.head) {
    auto loaded = LoadHeadLayer<B>(loader, layer);
    if (!loaded) return Forward(loaded);
    weights->head.push_back(std::move(*loaded));
  }
  return {};
}

template <compute::Backend B>
Result<ModelWeights<B>> LoadWeights(typename B::Context& context, const ModelConfig& config, const ModelSource& source,
                                    const Shard& shard, const std::stop_token& stop) {
  const WeightLoader<B> loader(context, config, source, shard);
  auto embedding = loader.LoadTable("token_embd.weight", config.vocab_size, config.hidden);
  if (!embedding) return Forward(embedding);
  ModelWeights<B> weights{.embedding = std::move(*embedding)};
  if (auto loaded = LoadInput<B>(loader, &weights); !loaded) return Forward(loaded);
  if (config.altup) {
    if constexpr (kHasAltUp<B>) {
      auto streams = LoadAltUpStreams<B>(context, loader);
      if (!streams) return Forward(streams);
      weights.streams = std::move(*streams);
    }
  }
  if (auto loaded = LoadDistanceBiases<B>(context, loader, &weights); !loaded) return Forward(loaded);
  if (config.query_growth) {
    auto table = LoadGrowthTable<B>(context, config);
    if (!table) return Forward(table);
    weights.query_growth = std::move(*table);
  }
  for (int32_t i = 0; i < config.layers; ++i) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "the load of {} was cancelled", source.path());
    auto layer = LoadLayer<B>(context, loader, i);
    if (!layer) return Forward(layer);
    weights.layers.push_back(std::move(*layer));
  }
  if (auto loaded = LoadOutput<B>(loader, &weights); !loaded) return Forward(loaded);
  if (shard.parallelism.pipeline == 1) loader.WarnOfUnused();
  return weights;
}

}  // namespace inferflux::model
