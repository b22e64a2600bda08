// The layer. All families, backends and KV types share this code.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "model/layers/activation.h"
#include "model/layers/altup.h"
#include "model/layers/attention.h"
#include "model/layers/feed_forward.h"
#include "model/layers/gated_delta_net.h"
#include "model/layers/latent_attention.h"
#include "model/layers/layer_inputs.h"
#include "model/layers/norm.h"
#include "model/layers/short_conv.h"
#include "model/layers/state_space.h"
#include "model/model_config.h"

namespace inferflux::model {

template <compute::Backend B>
struct LayerWeights {
  SubLayerNorms<B> attention_norms;
  std::optional<AttentionWeights<B>> attention;
  std::optional<typename LatentsOf<B>::Weights> latents;  // in place of attention
  // At most one of them, in place of attention or beside it.
  std::optional<ShortConvWeights<B>> conv;
  std::optional<DeltaNetWeights<B>> delta_net;
  std::optional<StateSpaceWeights<B>> state_space;
  SubLayerNorms<B> feed_forward_norms;
  std::unique_ptr<FeedForward<B>> feed_forward;  // null: none
  std::optional<LayerInputWeights<B>> layer_input;
  std::optional<AltUpWeights<B>> altup;
  float output_scale = 1.0f;  // of the layer's output

  bool recurrent() const { return conv || delta_net || state_space; }
  bool mixes_tokens() const { return attention || latents || recurrent(); }
};

// residual_norm(kept + scale * output_norm(f(input_norm(x)))). `normed`: input_norm(x), or null: it is computed. `kept`
// are the rows of x for which f returns a result. `next`: the norm of the result that follows, or null.
template <compute::Backend B, class F>
RowsWithNorm<B> Residual(typename B::Context& context, const ModelConfig& config, const SubLayerNorms<B>& norms,
                         compute::View<B> x, const std::optional<compute::Buffer<B>>& normed, compute::View<B> kept,
                         F f, const Norm<B>* next) {
  Value<B> y = x;
  if (norms.input) y = normed ? Value<B>(compute::View<B>(*normed)) : Value<B>((*norms.input)(context, x));
  y = f(y);
  if (norms.output) y = (*norms.output)(context, y);
  if (config.residual_scale != 1.0f) y = B::Scale(context, y, config.residual_scale);
  if (norms.residual) return {(*norms.residual)(context, B::Add(context, kept, y)), std::nullopt};
  return next != nullptr ? next->OfSum(context, kept, y) : RowsWithNorm<B>{B::Add(context, kept, y), std::nullopt};
}

template <compute::Backend B>
const Norm<B>* PointerTo(const std::optional<Norm<B>>& norm) {
  return norm ? &*norm : nullptr;
}

// kept + attention(input_norm(x)) + feed_forward(input_norm(x)), with a norm for each or one for both.
template <compute::Backend B, class F>
compute::Buffer<B> ParallelLayer(typename B::Context& context, const ModelConfig& config,
                                 const LayerWeights<B>& weights, compute::View<B> x, compute::View<B> rows,
                                 const KeptInputs<B>* kept, F attention) {
  Value<B> y = x;
  if (weights.attention_norms.input) y = (*weights.attention_norms.input)(context, y);
  const auto attended = attention(y);
  if (kept != nullptr && kept->rows.empty()) return B::GatherRows(context, x, {});
  Value<B> z = rows;
  if (weights.feed_forward_norms.input) {
    z = (*weights.feed_forward_norms.input)(context, z);
  } else if (config.feed_forward_norm.empty()) {
    z = kept == nullptr ? Value<B>(compute::View<B>(y)) : Value<B>(B::GatherRows(context, y, kept->rows));
  }
  return B::Add(context, rows, B::Add(context, attended, (*weights.feed_forward)(context, z)));
}

// x: [rows, streams * hidden] to the same, or to [kept rows, ...]. `continuing`: the step of the rows that continue.
template <compute::Backend B, class F>
requires kHasAltUp<B> compute::Buffer<B> AltUpLayer(typename B::Context& context, const ModelConfig& config,
                                                    const LayerWeights<B>& weights, compute::View<B> x,
                                                    const StepInputs<B>& continuing, int32_t layer,
                                                    const KeptInputs<B>* kept, F attention) {
  const AltUpWeights<B>& altup = *weights.altup;
  const int64_t hidden = config.hidden, first = hidden * config.altup->active;
  const auto keep = [&](compute::View<B> y) {
    return kept == nullptr ? Value<B>(y) : Value<B>(B::GatherRows(context, y, kept->rows));
  };
  const auto predicted = altup.Predict(context, config, x);
  const auto normed = (*weights.attention_norms.input)(context, B::Columns(predicted, first, hidden));
  const auto attended = attention(normed);
  if (kept != nullptr && kept->rows.empty()) return B::GatherRows(context, x, {});
  const Value<B> predictions = keep(predicted);
  const auto augmented = altup.Laurel(context, keep(normed));
  const auto sum =
      B::Add(context, B::Columns(predictions, first, hidden), (*weights.attention_norms.output)(context, attended));
  const auto middle = B::Scale(context, B::Add(context, sum, augmented), std::sqrt(0.5f));
  const auto feed_forward = [&](compute::View<B> y) { return (*weights.feed_forward)(context, y); };
  const auto computed =
      Residual<B>(context, config, weights.feed_forward_norms, middle, std::nullopt, middle, feed_forward, nullptr);
  const auto corrected = altup.Correct(context, config, predictions, computed.values);
  const auto scaled = B::ScaleColumns(context, B::Columns(corrected, first, hidden), altup.output_scale);
  const auto own = weights.layer_input->Addend(context, config, scaled, *continuing.layer_inputs, layer);
  return B::Add(context, corrected, B::MixStreams(context, own, altup.all_but_first, 1));
}

// The recurrent part of a layer: x [rows, hidden] to [rows, hidden], or to [kept rows, hidden].
template <compute::Backend B>
requires compute::RecurrentStates<B> && compute::Activations<B> compute::Buffer<B> Recurrent(
    typename B::Context& context, const ModelConfig& config, const LayerWeights<B>& weights, compute::View<B> x,
    const StepInputs<B>& step, States<B>& states, int32_t layer, const KeptInputs<B>* kept) {
  if constexpr (compute::SelectiveScans<B>) {
    if (weights.state_space) {
      return StateSpace<B>(context, config, *weights.state_space, x, step, states, layer, kept);
    }
  }
  if (weights.conv) return ShortConv<B>(context, config, *weights.conv, x, step, states, layer, kept);
  return GatedDeltaNet<B>(context, config, *weights.delta_net, x, step, states, layer, kept);
}

// x: [rows, hidden] to [rows, hidden], or to [kept rows, hidden]. The rows' keys and values are appended to the cache,
// and recurrent states are stored where the step says. `selection` goes from layer to layer. `x` may come with this
// layer's first norm, and the result comes with `next`, the norm that follows, where the backend makes it with the sum.
// An encoder's cache has one layer, because no later step reads them.
template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> RowsWithNorm<B> LayerForward(
    typename B::Context& context, const ModelConfig& config, const LayerWeights<B>& weights,
    const RowsWithNorm<B>& input, const StepInputs<B>& step, typename B::template KvCache<Kv>& cache, States<B>& states,
    int32_t layer, const KeptInputs<B>* kept, std::optional<Selection<B>>& selection, const Norm<B>* next) {
  const compute::View<B> x = input.values;
  const Value<B> rows = kept == nullptr ? Value<B>(x) : Value<B>(B::GatherRows(context, x, kept->rows));
  const auto attention = [&](compute::View<B> y) {
    if constexpr (compute::RecurrentStates<B> && compute::Activations<B>) {
      if (weights.recurrent()) {
        auto z = Recurrent<B>(context, config, weights, y, step, states, layer, kept);
        if (!weights.attention) return z;
        return B::Add(context, Attention<B, Kv>(context, config, *weights.attention, y, step, cache, layer, kept), z);
      }
    }
    if constexpr (kHasLatents<B> && compute::SparseKv<B, Kv>) {
      if (weights.latents) {
        return LatentAttention<B, Kv>(context, config, *weights.latents, y, step, cache, layer, kept, selection);
      }
    }
    return Attention<B, Kv>(context, config, *weights.attention, y, step, cache, layer, kept);
  };
  const bool silent = kept != nullptr && kept->rows.empty();
  const StepInputs<B>& continuing = kept == nullptr || silent ? step : *kept->step;
  if constexpr (kHasAltUp<B>) {
    if (weights.altup) {
      return {AltUpLayer<B>(context, config, weights, x, continuing, layer, kept, attention), std::nullopt};
    }
  }
  const auto feed_forward = [&](compute::View<B> y) { return (*weights.feed_forward)(context, y); };
  if (config.parallel) return {ParallelLayer<B>(context, config, weights, x, rows, kept, attention), std::nullopt};
  if (!weights.mixes_tokens()) {
    if (silent) return {B::GatherRows(context, x, {}), std::nullopt};
    const std::optional<compute::Buffer<B>> none;  // the norm that came with x is of all rows
    return Residual<B>(context, config, weights.attention_norms, rows, kept == nullptr ? input.normed : none, rows,
                       feed_forward, next);
  }
  const bool ends = weights.feed_forward == nullptr || silent;
  auto attended = Residual<B>(context, config, weights.attention_norms, x, input.normed, rows, attention,
                              ends ? next : PointerTo(weights.feed_forward_norms.input));
  if (ends) return attended;
  const bool changes = weights.layer_input || weights.output_scale != 1.0f;  // what the next norm is of
  auto out = Residual<B>(context, config, weights.feed_forward_norms, attended.values, attended.normed, attended.values,
                         feed_forward, changes ? nullptr : next);
  if (weights.layer_input) {
    out.values = (*weights.layer_input)(context, config, out.values, *continuing.layer_inputs, layer);
  }
  if (weights.output_scale != 1.0f) out.values = B::Scale(context, out.values, weights.output_scale);
  return out;
}

}  // namespace inferflux::model
