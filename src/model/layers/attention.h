// The attention of a layer: its weights and its computation.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/optional_ops.h"
#include "model/layers/activation.h"
#include "model/layers/grown_queries.h"
#include "model/layers/linear.h"
#include "model/layers/norm.h"
#include "model/loading/weight_loader.h"
#include "model/model_config.h"

namespace inferflux::model {

// One step as the layers see it.
template <compute::Backend B>
struct StepInputs {
  typename B::Batch batch;
  std::optional<typename B::Batch> places;      // with positions for tokens; none: the model has no table of positions
  std::vector<compute::Buffer<B>> rope_angles;  // one for each of ModelConfig::ropes
  const compute::Buffer<B>* distance_biases = nullptr;  // of the scores; null: none
  std::optional<compute::Buffer<B>> layer_inputs;       // [rows, layers * ModelConfig::layer_input]
  std::optional<compute::Buffer<B>> growth;             // [rows, 1]: of the queries (grown_queries.h)
};

// The rows of a step that continue after their keys and values are written.
template <compute::Backend B>
struct KeptInputs {
  std::vector<int32_t> rows;
  std::optional<StepInputs<B>> step;  // of these rows; none if there are no rows
};

template <compute::Backend B>
struct AttentionWeights {
  // Outputs: q [heads * head_dim], k and v [the layer's KV heads * head_dim] each. q alone where the layer reads
  // another's keys and values, q and k where its values are its keys.
  Linear<B> qkv;
  std::optional<Norm<B>> q_norm;
  std::optional<Norm<B>> k_norm;
  std::optional<Norm<B>> v_norm;
  std::optional<compute::Buffer<B>> sinks;  // [1, heads]
  std::optional<Linear<B>> gate;            // [heads * head_dim] logits
  Linear<B> output;
};

// `prefix`: "blk.0.". q, k and v are three tensors or one.
template <compute::Backend B>
Result<AttentionWeights<B>> LoadAttention(const WeightLoader<B>& loader, const std::string& prefix,
                                          const LayerKind& kind) {
  const ModelConfig& config = loader.config();
  const compute::KvGeometry& geometry = kind.kv;
  const bool own = kind.kv_layer == kOwnKv;
  const int64_t q = int64_t{config.heads} * geometry.head_dim;
  const int64_t kv = int64_t{geometry.heads} * geometry.head_dim;

  const Shard& shard = loader.shard();
  std::vector<WeightPart> parts{
      {prefix + "attn_q", shard.Heads(q)}, {prefix + "attn_k", shard.Heads(kv)}, {prefix + "attn_v", shard.Heads(kv)}};
  if (kind.values_are_keys) parts.pop_back();
  if (!own) parts.erase(parts.begin() + 1, parts.end());
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
  auto output = loader.LoadLinear({{prefix + "attn_output", config.hidden}}, shard.Heads(q));
  if (!output) return Forward(output);
  AttentionWeights<B> weights{.qkv = std::move(*qkv), .output = std::move(*output)};
  if (!gates.empty()) {
    auto gate = loader.LoadLinear(gates, config.hidden);
    if (!gate) return Forward(gate);
    weights.gate = std::move(*gate);
  }

  if (config.qk_norm == QkNorm::kPlain) {
    if (kind.rope != kNoRope) weights.q_norm = loader.PlainNorm(geometry.head_dim);
    if (kind.rope != kNoRope && own) weights.k_norm = loader.PlainNorm(geometry.head_dim);
  } else if (config.qk_norm != QkNorm::kNone) {
    const bool whole = config.qk_norm == QkNorm::kWhole;
    auto q_norm = loader.LoadRmsNorm(prefix + "attn_q_norm", whole ? q : geometry.head_dim);
    if (!q_norm) return Forward(q_norm);
    weights.q_norm = std::move(*q_norm);
    if (own) {
      auto k_norm = loader.LoadRmsNorm(prefix + "attn_k_norm", whole ? kv : geometry.head_dim);
      if (!k_norm) return Forward(k_norm);
      weights.k_norm = std::move(*k_norm);
    }
  }
  if (config.value_norm && own) weights.v_norm = loader.PlainNorm(geometry.head_dim);
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

// Appends the keys and values of `qkv`, whose first `q_width` columns are queries.
template <compute::Backend B, class Kv>
requires compute::PagedKv<B, Kv>
void AppendKv(typename B::Context& context, const ModelConfig& config, const AttentionWeights<B>& weights,
              const compute::Buffer<B>& qkv, int64_t q_width, const StepInputs<B>& step,
              typename B::template KvCache<Kv>& cache, const LayerKind& kind, int32_t slot) {
  const int64_t width = int64_t{kind.kv.heads} * kind.kv.head_dim;
  const auto keys = B::Columns(qkv, q_width, width);
  const auto k = WithPositions<B>(context, config, keys, weights.k_norm, step, kind, kind.kv.heads);
  Value<B> v = kind.values_are_keys ? keys : B::Columns(qkv, q_width + width, width);
  if (weights.v_norm) v = (*weights.v_norm)(context, v);
  B::template Append<Kv>(context, cache, slot, k, v, step.batch);
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
  const compute::AttentionParams params{.heads = config.heads,
                                        .kv_heads = kind.kv.heads,
                                        .head_dim = kind.kv.head_dim,
                                        .scale = config.attention_scale,
                                        .window = kind.kv.window,
                                        .softcap = config.attention_softcap,
                                        .causal = config.causal,
                                        .chunked = kind.kv.chunked};
  const bool own = kind.kv_layer == kOwnKv;
  const int32_t slot = !config.causal ? 0 : own ? layer : kind.kv_layer;

  const auto qkv = weights.qkv(context, x);
  if (own) AppendKv<B, Kv>(context, config, weights, qkv, q_width, step, cache, kind, slot);
  if (kept != nullptr && kept->rows.empty()) return B::GatherRows(context, x, {});

  const StepInputs<B>& asking = kept == nullptr ? step : *kept->step;
  const auto columns = B::Columns(qkv, 0, q_width);
  const Value<B> q_rows = kept == nullptr ? Value<B>(columns) : Value<B>(B::GatherRows(context, columns, kept->rows));
  Value<B> q = WithPositions<B>(context, config, q_rows, weights.q_norm, asking, kind, config.heads);
  if constexpr (compute::MoeRouting<B>) {
    if (asking.growth && kind.queries_grow) {
      q = B::GateRows(context, B::Scale(context, q, GrowthBound(config)), *asking.growth);
    }
  }
  if constexpr (compute::AttentionSinks<B, Kv>) {
    if (weights.sinks) {
      return weights.output(
          context, B::template AttendWithSinks<Kv>(context, q, cache, slot, asking.batch, params, *weights.sinks));
    }
  }
  if constexpr (compute::AttentionBiases<B, Kv>) {
    if (step.distance_biases != nullptr) {
      return weights.output(context, B::template AttendWithBiases<Kv>(context, q, cache, slot, asking.batch, params,
                                                                      *step.distance_biases));
    }
  }
  const auto attended = B::template Attend<Kv>(context, q, cache, slot, asking.batch, params);
  if (!weights.gate) return weights.output(context, attended);
  const Value<B> inputs = kept == nullptr ? Value<B>(x) : Value<B>(B::GatherRows(context, x, kept->rows));
  const auto gate = (*weights.gate)(context, inputs);
  return weights.output(context, B::Gate(context, gate, attended, compute::Activation::kSigmoid));
}

}  // namespace inferflux::model
