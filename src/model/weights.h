// A model's weights on one device, loaded from GGUF's tensor names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/layer_forward.h"
#include "model/moe.h"
#include "model/weight_loader.h"

namespace inferflux::model {

template <compute::Backend B>
struct ModelWeights {
  typename B::Table embedding;
  std::optional<typename B::Table> positions;  // [context, hidden], where positions are learned
  std::vector<LayerWeights<B>> layers;
  Norm<B> output_norm;
  Linear<B> output;  // the embedding itself where the file has no output tensor
};

template <class Network, compute::Backend B>
Result<std::unique_ptr<FeedForward<B>>> Own(Result<Network> network) {
  if (!network) return Forward(network);
  return std::make_unique<Network>(std::move(*network));
}

template <compute::Backend B>
Result<std::unique_ptr<FeedForward<B>>> LoadFeedForward(const WeightLoader<B>& loader, const std::string& prefix) {
  const ModelConfig& config = loader.config();
  if (config.moe.experts > 0) {
    if constexpr (compute::MoeRouting<B>) {
      return Own<MoeFeedForward<B>, B>(MoeFeedForward<B>::Load(loader, prefix));
    } else {
      return MissingConcept<B>(config, "MoeRouting");
    }
  }
  if (config.gated) {
    return Own<GatedFeedForward<B>, B>(GatedFeedForward<B>::Load(loader, prefix, "", config.feed_forward));
  }
  if constexpr (compute::Activations<B>) {
    return Own<PlainFeedForward<B>, B>(PlainFeedForward<B>::Load(loader, prefix));
  } else {
    return MissingConcept<B>(config, "Activations");
  }
}

template <compute::Backend B>
Result<LayerWeights<B>> LoadLayer(const WeightLoader<B>& loader, int32_t layer) {
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  auto attention_norms = loader.LoadSubLayerNorms(prefix + "attn_norm", prefix + "post_attention_norm");
  if (!attention_norms) return Forward(attention_norms);
  auto attention = LoadAttention<B>(loader, prefix);
  if (!attention) return Forward(attention);
  auto norms = loader.LoadSubLayerNorms(prefix + loader.config().feed_forward_norm, prefix + "post_ffw_norm");
  if (!norms) return Forward(norms);
  auto feed_forward = LoadFeedForward<B>(loader, prefix);
  if (!feed_forward) return Forward(feed_forward);
  return LayerWeights<B>{std::move(*attention_norms), std::move(*attention), std::move(*norms),
                         std::move(*feed_forward)};
}

template <compute::Backend B>
Result<ModelWeights<B>> LoadWeights(typename B::Context& context, const ModelConfig& config, const ModelSource& source) {
  const WeightLoader<B> loader(context, config, source);
  auto embedding = loader.LoadTable("token_embd.weight", config.vocab_size, config.hidden);
  if (!embedding) return Forward(embedding);
  std::optional<typename B::Table> positions;
  if (config.learned_positions) {
    auto table = loader.LoadTable("position_embd.weight", config.context, config.hidden);
    if (!table) return Forward(table);
    positions = std::move(*table);
  }

  std::vector<LayerWeights<B>> layers;
  for (int32_t i = 0; i < config.layers; ++i) {
    auto layer = LoadLayer<B>(loader, i);
    if (!layer) return Forward(layer);
    layers.push_back(std::move(*layer));
  }

  auto output_norm = loader.LoadNorm("output_norm", config.hidden);
  if (!output_norm) return Forward(output_norm);
  const char* output_name = loader.Contains("output.weight") ? "output" : "token_embd";
  auto output = loader.LoadLinear({{output_name, config.vocab_size}}, config.hidden);
  if (!output) return Forward(output);
  loader.WarnOfUnused();
  return ModelWeights<B>{std::move(*embedding), std::move(positions), std::move(layers), std::move(*output_norm),
                         std::move(*output)};
}

}  // namespace inferflux::model
