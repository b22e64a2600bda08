// The layer. All families, backends and KV types share this code.
#pragma once

#include <memory>
#include <utility>

#include "model/layers/activation.h"
#include "model/layers/attention.h"
#include "model/layers/feed_forward.h"
#include "model/layers/norm.h"
#include "model/model_config.h"

namespace inferflux::model {

template <compute::Backend B>
struct LayerWeights {
  SubLayerNorms<B> attention_norms;
  AttentionWeights<B> attention;
  SubLayerNorms<B> feed_forward_norms;
  std::unique_ptr<FeedForward<B>> feed_forward;
};

// residual_norm(kept + scale * output_norm(f(input_norm(x)))). `kept` are the rows of x for which f returns a result.
template <compute::Backend B, class F>
compute::Buffer<B> Residual(typename B::Context& context, const ModelConfig& config, const SubLayerNorms<B>& norms,
                            compute::View<B> x, compute::View<B> kept, F f) {
  Value<B> y = x;
  if (norms.input) y = (*norms.input)(context, y);
  y = f(y);
  if (norms.output) y = (*norms.output)(context, y);
  if (config.residual_scale != 1.0f) y = B::Scale(context, y, config.residual_scale);
  auto sum = B::Add(context, kept, y);
  return norms.residual ? (*norms.residual)(context, sum) : std::move(sum);
}

// x: [rows, hidden] to [rows, hidden], or to [kept rows, hidden]. The rows' keys and values are appended to the cache.
// An encoder's cache has one layer, because no later step reads them.
template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> compute::Buffer<B> LayerForward(
    typename B::Context& context, const ModelConfig& config, const LayerWeights<B>& weights, compute::View<B> x,
    const StepInputs<B>& step, typename B::template KvCache<Kv>& cache, int32_t layer, const KeptInputs<B>* kept) {
  const Value<B> rows = kept == nullptr ? Value<B>(x) : Value<B>(B::GatherRows(context, x, kept->rows));
  auto attended = Residual<B>(context, config, weights.attention_norms, x, rows, [&](compute::View<B> y) {
    return Attention<B, Kv>(context, config, weights.attention, y, step, cache, layer, kept);
  });
  if (kept != nullptr && kept->rows.empty()) return attended;
  return Residual<B>(context, config, weights.feed_forward_norms, attended, attended,
                     [&](compute::View<B> y) { return (*weights.feed_forward)(context, y); });
}

}  // namespace inferflux::model
