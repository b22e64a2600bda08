// The one decoder layer. Every family, every backend and every KV type runs through here.
#pragma once

#include <utility>

#include "compute/backend.h"
#include "model/model_config.h"
#include "model/weights.h"

namespace inferflux::model {

// One step as the layers see it.
template <compute::Backend B>
struct StepInputs {
  typename B::Batch batch;
  compute::Buffer<B> rope_angles;
};

// q and k, [rows, n * head_dim]: normalised head by head where the family does so, then rotated.
template <compute::Backend B>
compute::Buffer<B> NormAndRotate(typename B::Context& context, const ModelConfig& config, compute::View<B> x,
                                 const std::optional<compute::Buffer<B>>& norm, const StepInputs<B>& step,
                                 int32_t heads) {
  const compute::RopeParams rope{heads, config.head_dim, config.rope_style};
  if (!norm) return B::Rope(context, x, step.rope_angles, rope);
  return B::Rope(context, B::RmsNorm(context, x, *norm, config.norm_epsilon), step.rope_angles, rope);
}

// x: [rows, hidden] to [rows, hidden]. The rows' keys and values are appended to the cache first and read from there.
template <compute::Backend B, class Kv>
  requires compute::PagedKv<B, Kv>
compute::Buffer<B> LayerForward(typename B::Context& context, const ModelConfig& config, const LayerWeights<B>& weights,
                                compute::Buffer<B> x, const StepInputs<B>& step, typename B::template KvCache<Kv>& cache,
                                int32_t layer) {
  const int64_t q_width = int64_t{config.heads} * config.head_dim;
  const int64_t kv_width = int64_t{config.kv_heads} * config.head_dim;

  const auto qkv = weights.qkv(context, B::RmsNorm(context, x, weights.attention_norm, config.norm_epsilon));
  const auto q = NormAndRotate<B>(context, config, B::Columns(qkv, 0, q_width), weights.q_norm, step, config.heads);
  const auto k = NormAndRotate<B>(context, config, B::Columns(qkv, q_width, kv_width), weights.k_norm, step,
                                  config.kv_heads);
  B::template Append<Kv>(context, cache, layer, k, B::Columns(qkv, q_width + kv_width, kv_width), step.batch);
  const auto attended = B::template Attend<Kv>(context, q, cache, layer, step.batch,
                                               {.heads = config.heads,
                                                .kv_heads = config.kv_heads,
                                                .head_dim = config.head_dim,
                                                .scale = config.attention_scale,
                                                .window = config.sliding_window});
  x = B::Add(context, x, weights.attention_out(context, attended));

  const auto gate_up = weights.gate_up(context, B::RmsNorm(context, x, weights.feed_forward_norm, config.norm_epsilon));
  const auto gated = B::Gate(context, B::Columns(gate_up, 0, config.feed_forward),
                             B::Columns(gate_up, config.feed_forward, config.feed_forward), config.activation);
  return B::Add(context, x, weights.down(context, gated));
}

}  // namespace inferflux::model
