// Multi-head latent attention, MLA (arXiv:2405.04434): its weights and its computation. The matrix that makes a head's
// key of a latent is applied to the query, and the one that makes its value to the result, in prompts too: so a row's
// bits do not depend on where a prompt was cut.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/latent_kv.h"
#include "model/layers/attention.h"
#include "model/layers/linear.h"
#include "model/layers/norm.h"
#include "model/loading/weight_loader.h"
#include "model/model_config.h"

namespace inferflux::model {

inline constexpr float kLatentNormEpsilon = 1e-6f;  // whatever the model's other norms have

// Scores all earlier tokens for each query, and selects the best.
template <compute::Backend B>
struct IndexerWeights {
  Linear<B> q;        // from the latent of queries: [heads * head_dim]
  Linear<B> k;        // [head_dim]
  Norm<B> k_norm;     // always a LayerNorm
  Linear<B> weights;  // of the heads
};

template <compute::Backend B>
struct LatentWeights {
  struct QueryLatent {
    Linear<B> in;
    Norm<B> norm;
  };
  std::optional<QueryLatent> query_latent;
  Linear<B> q;   // outputs: the plain parts of all heads, then the rotated ones
  Linear<B> kv;  // outputs: the latent, then the rotated key
  Norm<B> kv_norm;
  ExpertLinear<B> keys;    // of each head: its query's plain part to a latent
  ExpertLinear<B> values;  // a latent to its value
  std::optional<IndexerWeights<B>> indexer;
  Linear<B> output;
};

// Nothing for a backend without these operations.
struct NoLatents {};
template <compute::Backend B>
struct LatentsOf {
  using Weights = NoLatents;
  using Selection = NoLatents;
};
template <compute::Backend B>
requires compute::SparseKv<B, compute::KvFp32> && compute::LayerNorms<B> && compute::TensorScales<B>
struct LatentsOf<B> {
  using Weights = LatentWeights<B>;
  using Selection = typename B::Selection;
};
template <compute::Backend B>
inline constexpr bool kHasLatents = !std::is_same_v<typename LatentsOf<B>::Weights, NoLatents>;

// What layers without an indexer of their own read: the selection of the last layer that has one.
template <compute::Backend B>
using Selection = typename LatentsOf<B>::Selection;

// `prefix`: "blk.0.".
template <compute::Backend B>
Result<IndexerWeights<B>> LoadIndexer(const WeightLoader<B>& loader, const std::string& prefix) {
  const ModelConfig& config = loader.config();
  const IndexerConfig& indexer = *config.indexer;
  auto q = loader.LoadLinear({{prefix + "indexer.attn_q_b", int64_t{indexer.heads} * indexer.head_dim}},
                             config.latent->query_rank);
  if (!q) return Forward(q);
  auto k = loader.LoadLinear({{prefix + "indexer.attn_k", indexer.head_dim}}, config.hidden);
  if (!k) return Forward(k);
  auto norm = loader.LoadLayerNorm(prefix + "indexer.k_norm", indexer.head_dim, kLatentNormEpsilon);
  if (!norm) return Forward(norm);
  auto weights = loader.LoadLinear({{prefix + "indexer.proj", indexer.heads}}, config.hidden);
  if (!weights) return Forward(weights);
  return IndexerWeights<B>{std::move(*q), std::move(*k), std::move(*norm), std::move(*weights)};
}

// The parts of q's tensor in another order: a head has its plain part, then its rotated one.
inline std::vector<WeightPart> QueryParts(const std::string& name, const ModelConfig& config) {
  const LatentConfig& latent = *config.latent;
  const int64_t head_dim = latent.plain + latent.rotated, all = config.heads * head_dim;
  std::vector<WeightPart> parts;
  for (int64_t head = 0; head < config.heads; ++head) parts.push_back({name, latent.plain, head * head_dim, all});
  for (int64_t head = 0; head < config.heads; ++head) {
    parts.push_back({name, latent.rotated, head * head_dim + latent.plain, all});
  }
  return parts;
}

template <compute::Backend B>
Result<LatentWeights<B>> LoadLatents(const WeightLoader<B>& loader, const std::string& prefix, bool selects) {
  const ModelConfig& config = loader.config();
  const LatentConfig& latent = *config.latent;
  const bool direct = latent.query_rank == 0;
  auto q = loader.LoadLinear(QueryParts(prefix + (direct ? "attn_q" : "attn_q_b"), config),
                             direct ? config.hidden : latent.query_rank);
  if (!q) return Forward(q);
  auto kv = loader.LoadLinear({{prefix + "attn_kv_a_mqa", int64_t{latent.rank} + latent.rotated}}, config.hidden);
  if (!kv) return Forward(kv);
  auto kv_norm = loader.LoadRmsNorm(prefix + "attn_kv_a_norm", latent.rank, kLatentNormEpsilon);
  if (!kv_norm) return Forward(kv_norm);
  auto keys = loader.LoadExperts({{prefix + "attn_k_b", latent.rank}}, config.heads, latent.plain);
  if (!keys) return Forward(keys);
  auto values = loader.LoadExperts({{prefix + "attn_v_b", latent.value}}, config.heads, latent.rank);
  if (!values) return Forward(values);
  auto output = loader.LoadLinear({{prefix + "attn_output", config.hidden}}, int64_t{config.heads} * latent.value);
  if (!output) return Forward(output);
  LatentWeights<B> out{.query_latent = {},
                       .q = std::move(*q),
                       .kv = std::move(*kv),
                       .kv_norm = std::move(*kv_norm),
                       .keys = std::move(*keys),
                       .values = std::move(*values),
                       .indexer = {},
                       .output = std::move(*output)};
  if (!direct) {
    auto in = loader.LoadLinear({{prefix + "attn_q_a", latent.query_rank}}, config.hidden);
    if (!in) return Forward(in);
    auto norm = loader.LoadRmsNorm(prefix + "attn_q_a_norm", latent.query_rank, kLatentNormEpsilon);
    if (!norm) return Forward(norm);
    out.query_latent = typename LatentWeights<B>::QueryLatent{std::move(*in), std::move(*norm)};
  }
  if (selects) {
    auto indexer = LoadIndexer<B>(loader, prefix);
    if (!indexer) return Forward(indexer);
    out.indexer = std::move(*indexer);
  }
  return out;
}

// The positions that each row of `q_latent` reads. The keys of all rows are in the cache.
template <compute::Backend B, class Kv>
requires compute::SparseKv<B, Kv> Selection<B> Select(typename B::Context& context, const ModelConfig& config,
                                                      const IndexerWeights<B>& weights, compute::View<B> x,
                                                      compute::View<B> q_latent, const StepInputs<B>& asking,
                                                      typename B::template KvCache<Kv>& cache, int32_t layer) {
  const IndexerConfig& indexer = *config.indexer;
  const auto q = B::Rope(context, weights.q(context, q_latent), asking.rope_angles[config.layer_kinds[layer].rope],
                         {indexer.heads, indexer.head_dim, indexer.rope_style});
  return B::template SelectPositions<Kv>(context, q, weights.weights(context, x), cache, layer, asking.batch,
                                         {indexer.heads, indexer.head_dim, indexer.top});
}

// x: [rows, hidden] to [rows, hidden], or to [kept rows, hidden]. `selection`: of the layers before; a layer with an
// indexer replaces it.
template <compute::Backend B, class Kv>
requires compute::SparseKv<B, Kv> compute::Buffer<B> LatentAttention(
    typename B::Context& context, const ModelConfig& config, const LatentWeights<B>& weights, compute::View<B> x,
    const StepInputs<B>& step, typename B::template KvCache<Kv>& cache, int32_t layer, const KeptInputs<B>* kept,
    std::optional<Selection<B>>& selection) {
  const LayerKind& kind = config.layer_kinds[layer];
  const LatentConfig& latent = *config.latent;
  const auto kv = weights.kv(context, x);
  const auto rotated_key = B::Rope(context, B::Columns(kv, latent.rank, latent.rotated), step.rope_angles[kind.rope],
                                   {1, latent.rotated, config.rope_style});
  B::template AppendLatents<Kv>(context, cache, layer, weights.kv_norm(context, B::Columns(kv, 0, latent.rank)),
                                rotated_key, step.batch);
  if (weights.indexer) {
    const IndexerConfig& indexer = *config.indexer;
    const auto k = weights.indexer->k_norm(context, weights.indexer->k(context, x));
    B::template AppendIndex<Kv>(
        context, cache, layer,
        B::Rope(context, k, step.rope_angles[kind.rope], {1, indexer.head_dim, indexer.rope_style}), step.batch);
  }
  if (kept != nullptr && kept->rows.empty()) return B::GatherRows(context, x, {});

  const StepInputs<B>& asking = kept == nullptr ? step : *kept->step;
  const Value<B> inputs = kept == nullptr ? Value<B>(x) : Value<B>(B::GatherRows(context, x, kept->rows));
  Value<B> q_latent = compute::View<B>(inputs);
  if (weights.query_latent) {
    q_latent = weights.query_latent->norm(context, weights.query_latent->in(context, inputs));
  }
  if (weights.indexer) {
    selection = Select<B, Kv>(context, config, *weights.indexer, inputs, q_latent, asking, cache, layer);
  }
  const auto q = weights.q(context, q_latent);
  const int64_t plain = int64_t{config.heads} * latent.plain, rotated = int64_t{config.heads} * latent.rotated;
  const auto rotated_q = B::Rope(context, B::Columns(q, plain, rotated), asking.rope_angles[kind.rope],
                                 {config.heads, latent.rotated, config.rope_style});
  const compute::AttentionParams params{
      .heads = config.heads, .kv_heads = 1, .head_dim = latent.rank + latent.rotated, .scale = config.attention_scale};
  const auto attended =
      B::template AttendLatents<Kv>(context, weights.keys.EachHead(context, B::Columns(q, 0, plain)), rotated_q, cache,
                                    layer, asking.batch, params, selection ? &*selection : nullptr);
  return weights.output(context, weights.values.EachHead(context, attended));
}

}  // namespace inferflux::model
