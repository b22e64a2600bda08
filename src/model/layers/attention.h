// The attention of a layer: its weights and its computation.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/optional_ops.h"
#include "model/layers/activation.h"
#include "model/layers/linear.h"
#include "model/layers/norm.h"
#include "model/loading/weight_loader.h"
#include "model/model_config.h"

namespace inferflux::model {

// One step as the layers see it.
template <compute::Backend B>
struct StepInputs {
  typename B::Batch batch;
  std::vector<compute::Buffer<B>> rope_angles;  // one for each of ModelConfig::ropes
};

// The rows of a step that continue after their keys and values are written.
template <compute::Backend B>
struct KeptInputs {
  std::vector<int32_t> rows;
  std::optional<StepInputs<B>> step;  // of these rows; none if there are no rows
};

template <compute::Backend B>
struct AttentionWeights {
  Linear<B> qkv;  // outputs: q [heads * head_dim], k and v [the layer's KV heads * head_dim] each
  std::optional<Norm<B>> q_norm;
  std::optional<Norm<B>> k_norm;
  std::optional<compute::Buffer<B>> sinks;  // [1, heads]
  std::optional<Linear<B>> gate;            // [heads * head_dim] logits
  Linear<B> output;
};

// `prefix`: "blk.0.". q, k and v are three tensors or one.
template <compute::Backend B>
Result<AttentionWeights<B>> LoadAttention(const WeightLoader<B>& loader, const std::string& prefix,
                                          const compute::KvGeometry& geometry) {
  const ModelConfig& config = loader.config();
  const int64_t q = int64_t{config.heads} * geometry.head_dim;
  const int64_t kv = int64_t{geometry.heads} * geometry.head_dim;

  std::vector<WeightPart> parts{{prefix + "attn_q", q}, {prefix + "attn_k", kv}, {prefix + "attn_v", kv}};
  if (loader.Contains(prefix + "attn_qkv.weight")) parts = {{prefix + "attn_qkv", q + 2 * kv}};
  std::vector<WeightPart> gates;
  if (config.attention_gate) {  // a head's query, then its gate
    parts.erase(parts.begin());
    for (int64_t head = config.heads - 1; head >= 0; --head) {
      const int64_t first = 2 * head * geometry.head_dim;
      parts.insert(parts.begin(), {prefix + "attn_q", geometry.head_dim, first, 2 * q});
      gates.insert(gates.begin(), {prefix + "attn_q", geometry.head_dim, first + geometry.head_dim, 2 * q});
    }
  }
  auto qkv = loader.LoadLinear(parts, config.hidden, config.qkv_bias ? BiasRule::kRequired : BiasRule::kWhereFound);
  if (!qkv) return Forward(qkv);
  auto output = loader.LoadLinear({{prefix + "attn_output", config.hidden}}, q);
  if (!output) return Forward(output);
  AttentionWeights<B> weights{.qkv = std::move(*qkv), .output = std::move(*output)};
  if (!gates.empty()) {
    auto gate = loader.LoadLinear(gates, config.hidden);
    if (!gate) return Forward(gate);
    weights.gate = std::move(*gate);
  }

  if (config.qk_norm != QkNorm::kNone) {
    const bool whole = config.qk_norm == QkNorm::kWhole;
    auto q_norm = loader.LoadRmsNorm(prefix + "attn_q_norm", whole ? q : geometry.head_dim);
    if (!q_norm) return Forward(q_norm);
    auto k_norm = loader.LoadRmsNorm(prefix + "attn_k_norm", whole ? kv : geometry.head_dim);
    if (!k_norm) return Forward(k_norm);
    weights.q_norm = std::move(*q_norm);
    weights.k_norm = std::move(*k_norm);
  }
  if (config.attention_sinks) {
    auto sinks = loader.LoadVector(prefix + "attn_sinks.weight", config.heads);
    if (!sinks) return Forward(sinks);
    weights.sinks = std::move(*sinks);
  }
  return weights;
}

// q or k, [rows, heads * head_dim]: normalised and rotated, if the model and the layer do so.
template <compute::Backend B>
Value<B> WithPositions(typename B::Context& context, const ModelConfig& config, compute::View<B> x,
                       const std::optional<Norm<B>>& norm, const StepInputs<B>& step, const LayerKind& kind,
                       int32_t heads) {
  Value<B> y = x;
  if (norm && !config.qk_norm_after_rope) y = (*norm)(context, y);
  if (kind.rope != kNoRope) {
    y = B::Rope(context, y, step.rope_angles[kind.rope], {heads, kind.kv.head_dim, config.rope_style});
  }
  if (norm && config.qk_norm_after_rope) y = (*norm)(context, y);
  return y;
}

// x: [rows, hidden] to [rows, hidden], or to [kept rows, hidden]. The rows' keys and values are first appended to the
// cache and then read from it.
template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv> compute::Buffer<B> Attention(typename B::Context& context, const ModelConfig& config,
                                                              const AttentionWeights<B>& weights, compute::View<B> x,
                                                              const StepInputs<B>& step,
                                                              typename B::template KvCache<Kv>& cache, int32_t layer,
                                                              const KeptInputs<B>* kept) {
  const LayerKind& kind = config.layer_kinds[layer];
  const int64_t q_width = int64_t{config.heads} * kind.kv.head_dim;
  const int64_t kv_width = int64_t{kind.kv.heads} * kind.kv.head_dim;
  const compute::AttentionParams params{.heads = config.heads,
                                        .kv_heads = kind.kv.heads,
                                        .head_dim = kind.kv.head_dim,
                                        .scale = config.attention_scale,
                                        .window = kind.kv.window,
                                        .softcap = config.attention_softcap,
                                        .causal = config.causal};
  const int32_t slot = config.causal ? layer : 0;

  const auto qkv = weights.qkv(context, x);
  const auto k =
      WithPositions<B>(context, config, B::Columns(qkv, q_width, kv_width), weights.k_norm, step, kind, kind.kv.heads);
  B::template Append<Kv>(context, cache, slot, k, B::Columns(qkv, q_width + kv_width, kv_width), step.batch);
  if (kept != nullptr && kept->rows.empty()) return B::GatherRows(context, x, {});

  const StepInputs<B>& asking = kept == nullptr ? step : *kept->step;
  const auto columns = B::Columns(qkv, 0, q_width);
  const Value<B> q_rows = kept == nullptr ? Value<B>(columns) : Value<B>(B::GatherRows(context, columns, kept->rows));
  const auto q = WithPositions<B>(context, config, q_rows, weights.q_norm, asking, kind, config.heads);
  if constexpr (compute::AttentionSinks<B, Kv>) {
    if (weights.sinks) {
      return weights.output(
          context, B::template AttendWithSinks<Kv>(context, q, cache, slot, asking.batch, params, *weights.sinks));
    }
  }
  const auto attended = B::template Attend<Kv>(context, q, cache, slot, asking.batch, params);
  if (!weights.gate) return weights.output(context, attended);
  const Value<B> inputs = kept == nullptr ? Value<B>(x) : Value<B>(B::GatherRows(context, x, kept->rows));
  const auto gate = (*weights.gate)(context, inputs);
  return weights.output(context, B::Gate(context, gate, attended, compute::Activation::kSigmoid));
}

}  // namespace inferflux::model
