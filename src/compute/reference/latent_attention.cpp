// Multi-head latent attention with its selection of positions, as published (arXiv:2405.04434, arXiv:2512.02556).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "compute/host/block_lookup.h"
#include "compute/host/head_matmul.h"
#include "compute/host/kv_element.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {
namespace {

// f(sequence, row) for each row of the step.
template <class F>
void ForEachRow(const StepGeometry& batch, F f) {
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    for (int32_t r = batch.query_starts[s]; r < batch.query_starts[s + 1]; ++r) f(s, r);
  }
}

// Stores one row of values and its scale.
template <class T>
void StoreRowAt(const std::vector<float>& row, int64_t slot, std::vector<T>& elements, std::vector<float>& scales) {
  const auto width = static_cast<int64_t>(row.size());
  const float scale = scales[static_cast<size_t>(slot)] = host::KvScale<T>(row.data(), static_cast<int32_t>(width));
  for (int64_t d = 0; d < width; ++d) {
    elements[static_cast<size_t>(slot * width + d)] = host::KvElement<T>(row[static_cast<size_t>(d)] / scale);
  }
}

}  // namespace

host::Buffer Reference::HeadMatMul(Context& context, View x, const Experts& heads) {
  return host::HeadMatMul(context.arena, x, heads,
                          [&](View part, const Matrix& matrix) { return MatMul(context, part, matrix); });
}

template <class E>
void Reference::AppendLatents(Context&, KvCache<E>& cache, int32_t layer, View latents, View rotated,
                              const Batch& batch) {
  auto& store = cache.layers[layer];
  ForEachRow(batch, [&](int32_t s, int32_t r) {
    std::vector<float> row(latents.row(r), latents.row(r) + latents.cols);
    row.insert(row.end(), rotated.row(r), rotated.row(r) + rotated.cols);
    StoreRowAt(row, host::SlotOf(batch, s, batch.positions[r]), store.keys, store.key_scales);
  });
}

template <class E>
void Reference::AppendIndex(Context&, KvCache<E>& cache, int32_t layer, View k, const Batch& batch) {
  auto& store = cache.layers[layer];
  ForEachRow(batch, [&](int32_t s, int32_t r) {
    const std::vector<float> row(k.row(r), k.row(r) + k.cols);
    StoreRowAt(row, host::SlotOf(batch, s, batch.positions[r]), store.values, store.value_scales);
  });
}

template <class E>
host::Buffer Reference::AttendLatents(Context& context, View q, View rotated, const KvCache<E>& cache, int32_t layer,
                                      const Batch& batch, const AttentionParams& params, const Selection* selected) {
  Buffer out = context.arena.Allocate(q.rows, q.cols);
  const auto& store = cache.layers[layer];
  const int64_t latent = q.cols / params.heads, tail = params.head_dim - latent;
  std::vector<double> weights;
  std::vector<int32_t> positions;
  ForEachRow(batch, [&](int32_t s, int32_t r) {
    if (selected != nullptr) {
      positions = selected->rows[static_cast<size_t>(r)];
    } else {
      positions.resize(static_cast<size_t>(batch.positions[r]) + 1);
      std::iota(positions.begin(), positions.end(), 0);
    }
    const auto row_of = [&](int32_t p) { return store.keys.data() + host::SlotOf(batch, s, p) * params.head_dim; };
    const auto scale_of = [&](int32_t p) {
      return double{store.key_scales[static_cast<size_t>(host::SlotOf(batch, s, p))]};
    };
    for (int64_t h = 0; h < params.heads; ++h) {
      weights.clear();
      double highest = -std::numeric_limits<double>::infinity();
      for (const int32_t p : positions) {
        const auto* key = row_of(p);
        double score = 0.0;
        for (int64_t d = 0; d < latent; ++d) score += double{q.row(r)[h * latent + d]} * ToFloat(key[d]);
        for (int64_t d = 0; d < tail; ++d) score += double{rotated.row(r)[h * tail + d]} * ToFloat(key[latent + d]);
        weights.push_back(score * params.scale * scale_of(p));
        highest = std::max(highest, weights.back());
      }
      double total = 0.0;
      for (double& weight : weights) total += weight = std::exp(weight - highest);
      for (int64_t d = 0; d < latent; ++d) {
        double sum = 0.0;
        for (size_t i = 0; i < positions.size(); ++i) {
          sum += weights[i] * ToFloat(row_of(positions[i])[d]) * scale_of(positions[i]);
        }
        out.row(r)[h * latent + d] = static_cast<float>(sum / total);
      }
    }
  });
  return out;
}

template <class E>
host::Selection Reference::SelectPositions(Context&, View q, View weights, const KvCache<E>& cache, int32_t layer,
                                           const Batch& batch, const IndexParams& params) {
  const auto& store = cache.layers[layer];
  Selection out;
  std::vector<float> scores;
  ForEachRow(batch, [&](int32_t s, int32_t r) {
    scores.clear();
    for (int32_t p = 0; p <= batch.positions[r]; ++p) {
      const int64_t slot = host::SlotOf(batch, s, p);
      const auto* key = store.values.data() + slot * params.head_dim;
      double total = 0.0;
      for (int64_t h = 0; h < params.heads; ++h) {
        double product = 0.0;
        for (int64_t d = 0; d < params.head_dim; ++d) {
          product += double{q.row(r)[h * params.head_dim + d]} * ToFloat(key[d]);
        }
        total += weights.row(r)[h] * std::max(0.0, product);
      }
      scores.push_back(static_cast<float>(total * store.value_scales[static_cast<size_t>(slot)]));
    }
    out.rows.push_back(host::BestPositions(scores, params.top));
  });
  return out;
}

template void Reference::AppendLatents(Context&, KvCache<KvFp32>&, int32_t, View, View, const Batch&);
template void Reference::AppendIndex(Context&, KvCache<KvFp32>&, int32_t, View, const Batch&);
template host::Buffer Reference::AttendLatents(Context&, View, View, const KvCache<KvFp32>&, int32_t, const Batch&,
                                               const AttentionParams&, const Selection*);
template host::Selection Reference::SelectPositions(Context&, View, View, const KvCache<KvFp32>&, int32_t, const Batch&,
                                                    const IndexParams&);
template void Reference::AppendLatents(Context&, KvCache<KvFp16>&, int32_t, View, View, const Batch&);
template void Reference::AppendIndex(Context&, KvCache<KvFp16>&, int32_t, View, const Batch&);
template host::Buffer Reference::AttendLatents(Context&, View, View, const KvCache<KvFp16>&, int32_t, const Batch&,
                                               const AttentionParams&, const Selection*);
template host::Selection Reference::SelectPositions(Context&, View, View, const KvCache<KvFp16>&, int32_t, const Batch&,
                                                    const IndexParams&);
template void Reference::AppendLatents(Context&, KvCache<KvBf16>&, int32_t, View, View, const Batch&);
template void Reference::AppendIndex(Context&, KvCache<KvBf16>&, int32_t, View, const Batch&);
template host::Buffer Reference::AttendLatents(Context&, View, View, const KvCache<KvBf16>&, int32_t, const Batch&,
                                               const AttentionParams&, const Selection*);
template host::Selection Reference::SelectPositions(Context&, View, View, const KvCache<KvBf16>&, int32_t, const Batch&,
                                                    const IndexParams&);
template void Reference::AppendLatents(Context&, KvCache<KvInt8>&, int32_t, View, View, const Batch&);
template void Reference::AppendIndex(Context&, KvCache<KvInt8>&, int32_t, View, const Batch&);
template host::Buffer Reference::AttendLatents(Context&, View, View, const KvCache<KvInt8>&, int32_t, const Batch&,
                                               const AttentionParams&, const Selection*);
template host::Selection Reference::SelectPositions(Context&, View, View, const KvCache<KvInt8>&, int32_t, const Batch&,
                                                    const IndexParams&);
template void Reference::AppendLatents(Context&, KvCache<KvFp8>&, int32_t, View, View, const Batch&);
template void Reference::AppendIndex(Context&, KvCache<KvFp8>&, int32_t, View, const Batch&);
template host::Buffer Reference::AttendLatents(Context&, View, View, const KvCache<KvFp8>&, int32_t, const Batch&,
                                               const AttentionParams&, const Selection*);
template host::Selection Reference::SelectPositions(Context&, View, View, const KvCache<KvFp8>&, int32_t, const Batch&,
                                                    const IndexParams&);

}  // namespace inferflux::compute
