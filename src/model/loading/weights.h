// A model's weights on one device, loaded from GGUF's tensor names.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/layers/layer_forward.h"
#include "model/layers/moe.h"
#include "model/loading/weight_loader.h"

namespace inferflux::model {

template <compute::Backend B>
struct ModelWeights {
  typename B::Table embedding;
  std::optional<typename B::Table> positions;    // [context, hidden], if positions are learned
  std::optional<compute::Buffer<B>> token_type;  // [1, hidden], if tokens have types
  std::optional<Norm<B>> embedding_norm;
  std::vector<LayerWeights<B>> layers;
  std::optional<Norm<B>> output_norm;
  std::optional<Linear<B>> output;  // the embedding if the file has no output tensor; none for encoders
};

template <class Network, compute::Backend B>
Result<std::unique_ptr<FeedForward<B>>> Own(Result<Network> network) {
  if (!network) return Forward(network);
  return std::make_unique<Network>(std::move(*network));
}

template <compute::Backend B>
Result<std::unique_ptr<FeedForward<B>>> LoadFeedForward(const WeightLoader<B>& loader, const std::string& prefix,
                                                        const LayerKind& kind) {
  const ModelConfig& config = loader.config();
  if (config.moe.experts > 0 && !kind.dense) {
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
  const ModelConfig& config = loader.config();
  const LayerKind& kind = config.layer_kinds[layer];
  auto attention_norms = loader.LoadSubLayerNorms(
      {prefix + config.attention_norm, prefix + "post_attention_norm", prefix + "attn_output_norm"});
  if (!attention_norms) return Forward(attention_norms);
  LayerWeights<B> out{.attention_norms = std::move(*attention_norms)};
  if (kind.kv.heads == 0 && config.delta_net) {
    auto delta_net = LoadDeltaNet<B>(loader, prefix);
    if (!delta_net) return Forward(delta_net);
    out.delta_net = std::move(*delta_net);
  } else if (kind.kv.heads == 0) {
    auto conv = LoadShortConv<B>(loader, prefix);
    if (!conv) return Forward(conv);
    out.conv = std::move(*conv);
  } else {
    auto attention = LoadAttention<B>(loader, prefix, kind.kv);
    if (!attention) return Forward(attention);
    out.attention = std::move(*attention);
  }
  const std::string& name = config.feed_forward_norm;
  auto norms = loader.LoadSubLayerNorms(
      {name.empty() ? name : prefix + name, prefix + "post_ffw_norm", prefix + "layer_output_norm"});
  if (!norms) return Forward(norms);
  auto feed_forward = LoadFeedForward<B>(loader, prefix, kind);
  if (!feed_forward) return Forward(feed_forward);
  out.feed_forward_norms = std::move(*norms);
  out.feed_forward = std::move(*feed_forward);
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
  if (config.token_types) {
    auto first = loader.LoadFirstRow("token_types.weight", config.hidden);
    if (!first) return Forward(first);
    weights->token_type = std::move(*first);
  }
  if (config.embedding_norm) {
    auto norm = loader.LoadNorm("token_embd_norm", config.hidden);
    if (!norm) return Forward(norm);
    weights->embedding_norm = std::move(*norm);
  }
  return {};
}

// The tensors after the last layer.
template <compute::Backend B>
Status LoadOutput(const WeightLoader<B>& loader, ModelWeights<B>* weights) {
  const ModelConfig& config = loader.config();
  if (config.final_norm) {
    auto norm = loader.LoadNorm(config.output_norm, config.hidden);
    if (!norm) return Forward(norm);
    weights->output_norm = std::move(*norm);
  }
  if (config.causal) {
    const char* name = loader.Contains("output.weight") ? "output" : "token_embd";
    auto output = loader.LoadLinear({{name, config.vocab_size}}, config.hidden);
    if (!output) return Forward(output);
    weights->output = std::move(*output);
  }
  return {};
}

template <compute::Backend B>
Result<ModelWeights<B>> LoadWeights(typename B::Context& context, const ModelConfig& config, const ModelSource& source,
                                    const std::stop_token& stop) {
  const WeightLoader<B> loader(context, config, source);
  auto embedding = loader.LoadTable("token_embd.weight", config.vocab_size, config.hidden);
  if (!embedding) return Forward(embedding);
  ModelWeights<B> weights{.embedding = std::move(*embedding)};
  if (auto loaded = LoadInput<B>(loader, &weights); !loaded) return Forward(loaded);
  for (int32_t i = 0; i < config.layers; ++i) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "the load of {} was cancelled", source.path());
    auto layer = LoadLayer<B>(loader, i);
    if (!layer) return Forward(layer);
    weights.layers.push_back(std::move(*layer));
  }
  if (auto loaded = LoadOutput<B>(loader, &weights); !loaded) return Forward(loaded);
  loader.WarnOfUnused();
  return weights;
}

}  // namespace inferflux::model
