// Attention over latents: MLA, multi-head latent attention (arXiv:2405.04434). A token has one row of values in the KV
// store, which all heads share: its latent, from which each head would make its key and its value, and a rotated key.
// The matrices of a head are applied to its query and to its result instead ("absorbed"), so nothing is made of a
// latent.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "compute/optional_ops.h"

namespace inferflux::compute {

template <class B, class E>
concept LatentKv = PagedKv<B, E> && MoeRouting<B> &&
    requires(typename B::Context& context, typename B::template KvCache<E>& cache,
             const typename B::template KvCache<E>& filled, typename B::View view, const typename B::Batch& batch,
             const typename B::Experts& heads, const AttentionParams& attention, int32_t index,
             const typename B::Selection* selected, std::span<const int32_t> rows) {
  // x: [rows, heads * inputs] to [rows, heads * outputs], each head by its own matrix.
  { B::HeadMatMul(context, view, heads) } -> std::same_as<typename B::Buffer>;
  // Stores [rows, latent] and [rows, head_dim - latent], the rotated keys, at each row's position.
  { B::template AppendLatents<E>(context, cache, index, view, view, batch) } -> std::same_as<void>;
  // softmax(scale * (q . latent + rotated q . rotated key)) latents, for q [rows, heads * latent] and rotated q
  // [rows, heads * (head_dim - latent)], over all positions up to the row's own, or over the selected ones. Returns
  // [rows, heads * latent].
  {
    B::template AttendLatents<E>(context, view, view, filled, index, batch, attention, selected)
    } -> std::same_as<typename B::Buffer>;
};

// A backend that can restrict attention to the positions that an indexer selects: DeepSeek's sparse attention
// (arXiv:2512.02556). A position's score is the sum over the indexer's heads of weight * max(0, q . k).
template <class B, class E>
concept SparseKv = LatentKv<B, E> &&
    requires(typename B::Context& context, typename B::template KvCache<E>& cache,
             const typename B::template KvCache<E>& filled, typename B::View view, const typename B::Batch& batch,
             const IndexParams& params, int32_t index) {
  // k: [rows, KvGeometry::index].
  { B::template AppendIndex<E>(context, cache, index, view, batch) } -> std::same_as<void>;
  // q: [rows, heads * head_dim], weights: [rows, heads]. The positions with the highest scores up to each row's own;
  // the lower one on ties.
  {
    B::template SelectPositions<E>(context, view, view, filled, index, batch, params)
    } -> std::same_as<typename B::Selection>;
};

}  // namespace inferflux::compute
