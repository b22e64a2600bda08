// softmax(q . K) V over one span of positions, for queries that share a KV head (arXiv:1706.03762), and the merge of
// two spans' results (arXiv:2112.05682). Included once per instruction set, after its lanes header and
// vector_ops_inl.h.
#pragma once

#include <algorithm>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/float_tile_inl.h"
#include "compute/cpu/kernels/simd/prefetch.h"

namespace inferflux::compute::cpu {
namespace {

constexpr int64_t kScoreStride = kSpan + kLanes;
static_assert(kFloatRows * kScoreStride <= kScoreFloats);

// A half-open range of positions within a span.
struct Range {
  int begin = 0;
  int end = 0;
  bool empty() const { return begin >= end; }
};

template <class T>
inline Range Seen(const AttentionTask<T>& task, int query, int span) {
  return {std::max(task.first[query] - span * kSpan, 0), std::min(task.last[query] + 1 - span * kSpan, kSpan)};
}

// Calls f(block, first position in the block, first position in the span, count) for each run of positions of `range`
// within one block.
template <class T, class F>
inline void ForBlocks(const AttentionTask<T>& task, int span, Range range, F f) {
  for (int at = range.begin; at < range.end;) {
    const int position = span * kSpan + at;
    const int inside = position % task.block_size;
    const int count = std::min(task.block_size - inside, range.end - at);
    f(position / task.block_size, inside, at, count);
    at += count;
  }
}

template <class T>
constexpr int64_t BytesOf(int64_t elements) {
  return elements * static_cast<int64_t>(sizeof(T));
}

inline const float* Scales(const void* elements) { return static_cast<const float*>(elements); }

// scores[m][at] = q[m] . key, for whole groups of 16 positions around `range`. The first queries also prefetch the
// values: blocks are too short for the hardware prefetcher to detect a stream.
template <int M, class T>
inline void Scores(const AttentionTask<T>& task, int query, int span, Range range) {
  const float* q = task.q + int64_t{query} * task.head_dim;
  const int64_t group = int64_t{task.head_dim} * kLanes;
  range.begin -= range.begin % std::min(task.block_size, kLanes);  // the start of a group of keys
  ForBlocks(task, span, range, [&](int block, int inside, int at, int count) {
    const T* keys = task.keys[block] + inside / kLanes * group;
    const int64_t width = PaddedHead(task.head_dim);
    Prefetch prefetch =
        query == 0 ? Prefetch(task.values[block] + inside * width, BytesOf<T>(count * width)) : Prefetch();
    const auto run = [&]<int N>(int n) {
      constexpr int kDims = 16;  // between two prefetches
      FloatTile<M, N> tile;
      tile.Clear();
      for (int d = 0; d < task.head_dim; d += kDims) {
        prefetch.Fetch(BytesOf<T>(int64_t{N} * kDims * kLanes));
        tile.Run(q + d, task.head_dim, keys + int64_t{d} * kLanes, kLanes, group, std::min(kDims, task.head_dim - d));
      }
      if constexpr (kStoredWithScales<T>) {
        tile.MultiplyColumns(Scales(task.keys[block] + KeyElements(task.block_size, task.head_dim)) + inside + n);
      }
      tile.Store(task.scores + at + n, kScoreStride);
      keys += N * group;
    };
    int n = 0;
    for (; n + (kScoreGroups - 1) * kLanes < count; n += kScoreGroups * kLanes) {
      run.template operator()<kScoreGroups>(n);
    }
    if (n < count) run.template operator()<1>(n);
  });
}

// Multiplies weights by the scales of their values, for types with scales.
template <class T>
inline void ScaleWeights(const AttentionTask<T>& task, int span, Range range, float* weights) {
  ForBlocks(task, span, range, [&](int block, int inside, int at, int count) {
    const float* scales = Scales(task.values[block] + ValueElements(task.block_size, task.head_dim)) + inside;
    for (int i = 0; i < count; ++i) weights[at + i] *= scales[i];
  });
}

// Replaces scores by exp(score - highest) within `range`, and by zero in the rest of the vectors that it touches.
inline void Softmax(float* scores, Range range, float softcap, float* highest, float* total) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  const int begin = range.begin / lanes * lanes;
  const int end = (range.end + lanes - 1) / lanes * lanes;
  const float nothing = -std::numeric_limits<float>::infinity();
  if (softcap > 0.0f) {
    const auto cap = hn::Set(d, softcap);
    for (int i = begin; i < end; i += lanes) {
      const auto capped = hn::Mul(cap, hn::Tanh(d, hn::Div(hn::LoadU(d, scores + i), cap)));
      hn::StoreU(capped, d, scores + i);
    }
  }
  std::fill(scores + begin, scores + range.begin, nothing);
  std::fill(scores + range.end, scores + end, nothing);
  auto most = hn::Set(d, nothing);
  for (int i = begin; i < end; i += lanes) most = hn::Max(most, hn::LoadU(d, scores + i));
  most = hn::MaxOfLanes(d, most);
  auto sum = hn::Zero(d);
  for (int i = begin; i < end; i += lanes) {
    const auto weight = ExpUpTo0(hn::Sub(hn::LoadU(d, scores + i), most));
    hn::StoreU(weight, d, scores + i);
    sum = hn::Add(sum, weight);
  }
  *highest = hn::GetLane(most);
  *total = hn::GetLane(hn::SumOfLanes(d, sum));
}

// The keys of the same run one span later, if there is one.
template <class T>
inline Prefetch NextKeys(const AttentionTask<T>& task, int position, int count) {
  position += kSpan;
  if (position > task.last[task.queries - 1]) return {};
  const int64_t group = int64_t{task.head_dim} * kLanes;
  return {task.keys[position / task.block_size] + position % task.block_size / kLanes * group,
          BytesOf<T>((count + kLanes - 1) / kLanes * group)};
}

// out[m] += the weighted values of `range`, in ascending positions. The first queries also prefetch the next span's
// keys.
template <int M, class T>
inline void Values(const AttentionTask<T>& task, const float* weights, int span, Range range, bool first, float* out) {
  const int64_t width = PaddedHead(task.head_dim);
  if (range.empty()) return;
  const auto run = [&]<int N>(int64_t column) {
    FloatTile<M, N> tile;
    tile.Load(out + column, width);
    ForBlocks(task, span, range, [&](int block, int inside, int at, int count) {
      constexpr int kRows = 8;  // between two prefetches
      Prefetch prefetch = first && column == 0 ? NextKeys(task, span * kSpan + at, count) : Prefetch();
      const T* values = task.values[block] + inside * width + column;
      for (int i = 0; i < count; i += kRows) {
        prefetch.Fetch(BytesOf<T>(kRows * width));
        tile.Run(weights + at + i, kScoreStride, values + i * width, width, kLanes, std::min(kRows, count - i));
      }
    });
    tile.Store(out + column, width);
  };
  constexpr int kWide = std::clamp(kFloatSums / M, 1, 4);  // as many columns as there are registers for their sums
  int64_t column = 0;
  for (; column + kWide * kLanes <= width; column += kWide * kLanes) run.template operator()<kWide>(column);
  if constexpr (kWide > 1) {
    for (; column < width; column += kLanes) run.template operator()<1>(column);
  }
}

template <int M, class T>
inline void SpanTile(const AttentionTask<T>& task, int query, int span, const AttentionSums& out) {
  const int64_t width = PaddedHead(task.head_dim);
  float* values = out.values + query * width;
  Range any{kSpan, 0};  // positions that at least one query sees
  Range all{0, kSpan};  // positions that every query sees
  Range seen[M];
  for (int m = 0; m < M; ++m) {
    seen[m] = Seen(task, query + m, span);
    if (!seen[m].empty()) any = {std::min(any.begin, seen[m].begin), std::max(any.end, seen[m].end)};
    all = {std::max(all.begin, seen[m].begin), std::min(all.end, seen[m].end)};
  }
  std::fill_n(values, M * width, 0.0f);
  if (!any.empty()) Scores<M>(task, query, span, any);
  for (int m = 0; m < M; ++m) {
    out.highest[query + m] = -std::numeric_limits<float>::infinity();
    out.total[query + m] = 0.0f;
    if (seen[m].empty()) continue;
    float* scores = task.scores + m * kScoreStride;
    Softmax(scores, seen[m], task.softcap, &out.highest[query + m], &out.total[query + m]);
    if constexpr (kStoredWithScales<T>) ScaleWeights(task, span, seen[m], scores);
  }
  // Queries never read a value that they do not see, not even with weight zero. Each adds up positions in order.
  const auto alone = [&](int m, Range range) {
    Values<1>(task, task.scores + m * kScoreStride, span, range, false, values + m * width);
  };
  if (all.empty()) {
    for (int m = 0; m < M; ++m) alone(m, seen[m]);
    return;
  }
  for (int m = 0; m < M; ++m) alone(m, {seen[m].begin, all.begin});
  Values<M>(task, task.scores, span, all, query == 0, values);
  for (int m = 0; m < M; ++m) alone(m, {all.end, seen[m].end});
}

template <class T>
void AttendSpan(const AttentionTask<T>& task, int span, const AttentionSums& out) {
  ForTiles<kFloatRows>(task.queries, [&]<int M>(int64_t query, int64_t /*tile*/) {
    SpanTile<M>(task, static_cast<int>(query), span, out);
  });
}

inline void MergeSums(int queries, int64_t width, const AttentionSums& from, const AttentionSums& into) {
  const hn::ScalableTag<float> d;
  for (int i = 0; i < queries; ++i) {
    if (from.total[i] == 0.0f) continue;
    const float* add = from.values + i * width;
    float* values = into.values + i * width;
    if (into.total[i] == 0.0f) {
      std::copy_n(add, width, values);
      into.total[i] = from.total[i];
      into.highest[i] = from.highest[i];
      continue;
    }
    const float highest = std::max(into.highest[i], from.highest[i]);
    const auto old_factor = hn::Exp(d, hn::Set(d, into.highest[i] - highest));
    const auto new_factor = hn::Exp(d, hn::Set(d, from.highest[i] - highest));
    into.total[i] = into.total[i] * hn::GetLane(old_factor) + from.total[i] * hn::GetLane(new_factor);
    into.highest[i] = highest;
    Map(
        values, width, [=](auto a, auto b) { return hn::MulAdd(a, old_factor, hn::Mul(b, new_factor)); }, values, add);
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
