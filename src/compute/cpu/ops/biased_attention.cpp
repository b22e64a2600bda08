// Attention with a bias for each head and distance. Plain loops over the lanes of the KV layout: the models that need
// it are encoders of short texts, in which the matmuls dominate. Each sum has one fixed order.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "compute/cpu/cpu_backend.h"

namespace inferflux::compute {
namespace {

// The positions that one row sees: [first, last].
struct Seen {
  int32_t first = 0;
  int32_t last = 0;
};

class BiasedRow {
 public:
  BiasedRow(const cpu::KvCache<float>& cache, int32_t layer, const StepGeometry& batch, const AttentionParams& params)
      : cache_(cache), layer_(layer), batch_(batch), params_(params) {}

  // q: [head_dim], not scaled. `biases`: at position p.
  void Run(int32_t sequence, int32_t kv_head, const float* q, Seen seen, const float* biases, float* out) {
    scores_.assign(static_cast<size_t>(seen.last - seen.first + 1), 0.0f);
    Score(sequence, kv_head, q, seen);
    float highest = -std::numeric_limits<float>::infinity();
    for (int32_t p = seen.first; p <= seen.last; ++p) {
      float& score = scores_[static_cast<size_t>(p - seen.first)];
      score = score * params_.scale + biases[p];
      highest = std::max(highest, score);
    }
    float total = 0.0f;
    for (float& score : scores_) total += score = std::exp(score - highest);
    std::fill_n(out, params_.head_dim, 0.0f);
    for (int32_t p = seen.first; p <= seen.last; ++p) {
      const float weight = scores_[static_cast<size_t>(p - seen.first)] / total;
      const float* value = cache_.values(layer_, BlockOf(sequence, p), kv_head) +
                           p % batch_.block_size * cpu::PaddedHead(params_.head_dim);
      for (int32_t d = 0; d < params_.head_dim; ++d) out[d] += weight * value[d];
    }
  }

 private:
  int32_t BlockOf(int32_t sequence, int32_t position) const {
    return batch_.block_tables[static_cast<size_t>(batch_.table_starts[sequence] + position / batch_.block_size)];
  }

  // The dot products of a query with a group of keys, one key in each SIMD lane.
  void Score(int32_t sequence, int32_t kv_head, const float* q, Seen seen) {
    for (int32_t p = seen.first; p <= seen.last;) {
      const int32_t inside = p % batch_.block_size, lane = inside % cpu::kLanes;
      const int32_t count = std::min({cpu::kLanes - lane, batch_.block_size - inside, seen.last + 1 - p});
      const float* keys = cache_.keys(layer_, BlockOf(sequence, p), kv_head) +
                          int64_t{inside / cpu::kLanes} * params_.head_dim * cpu::kLanes;
      std::array<float, cpu::kLanes> sums{};
      for (int32_t d = 0; d < params_.head_dim; ++d) {
        for (int l = 0; l < cpu::kLanes; ++l) sums[static_cast<size_t>(l)] += q[d] * keys[d * cpu::kLanes + l];
      }
      std::copy_n(sums.begin() + lane, count, scores_.begin() + (p - seen.first));
      p += count;
    }
  }

  const cpu::KvCache<float>& cache_;
  int32_t layer_;
  const StepGeometry& batch_;
  const AttentionParams& params_;
  std::vector<float> scores_;
};

}  // namespace

host::Buffer Cpu::AttendBiased(Context& context, View q, const cpu::KvCache<float>& cache, int32_t layer,
                               const Batch& batch, const AttentionParams& params, View biases) {
  host::Buffer out = context.arena.Allocate(q.rows, q.cols);
  const int64_t distances = biases.cols / params.heads;
  std::vector<int32_t> sequence_of(static_cast<size_t>(q.rows));
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    std::fill(sequence_of.begin() + batch.query_starts[s], sequence_of.begin() + batch.query_starts[s + 1], s);
  }
  const int32_t group = params.heads / params.kv_heads;
  context.pool.ParallelFor(q.rows * params.heads, 8, [&](int64_t begin, int64_t end, int) {
    BiasedRow row(cache, layer, batch, params);
    for (int64_t i = begin; i < end; ++i) {
      const auto r = static_cast<int32_t>(i / params.heads), head = static_cast<int32_t>(i % params.heads);
      const int32_t sequence = sequence_of[static_cast<size_t>(r)], position = batch.positions[r];
      Seen seen{0, batch.positions[params.causal ? r : batch.query_starts[sequence + 1] - 1]};
      if (params.window > 0) {
        seen = {params.First(position), std::min(seen.last, position + params.window - 1)};
      }
      const int64_t column = int64_t{head} * params.head_dim;
      row.Run(sequence, head / group, q.row(r) + column, seen,
              biases.data + head * distances + distances / 2 - position, out.row(r) + column);
    }
  });
  return out;
}

}  // namespace inferflux::compute
