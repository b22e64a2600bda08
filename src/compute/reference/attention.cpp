#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "compute/host/block_lookup.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

// softmax(q.k * scale) . v, as published (arXiv:1706.03762), with grouped KV heads, a window, a soft cap, sinks and
// biases.
template <class E>
host::Buffer Reference::AttendWith(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                   const AttentionParams& params, View sinks, View biases) {
  Buffer out = context.arena.Allocate(q.rows, q.cols);
  const auto& store = cache.layers[layer];
  const int64_t width = int64_t{params.kv_heads} * params.head_dim;
  const int32_t group = params.heads / params.kv_heads;
  std::vector<double> weights;
  std::vector<int64_t> slots;

  for (int32_t s = 0; s < batch.sequences(); ++s) {
    for (int32_t r = batch.query_starts[s]; r < batch.query_starts[s + 1]; ++r) {
      int32_t last = batch.positions[params.causal ? r : batch.query_starts[s + 1] - 1];
      if (params.window > 0) last = std::min(last, batch.positions[r] + params.window - 1);
      const int32_t first = params.First(batch.positions[r]);
      slots.clear();
      for (int32_t p = first; p <= last; ++p) slots.push_back(host::SlotOf(batch, s, p));

      for (int32_t h = 0; h < params.heads; ++h) {
        const float* query = q.row(r) + int64_t{h} * params.head_dim;
        const int64_t head = int64_t{h / group} * params.head_dim;
        weights.assign(slots.size(), 0.0);
        double highest = sinks.cols > 0 ? sinks.data[h] : -std::numeric_limits<double>::infinity();
        for (size_t i = 0; i < slots.size(); ++i) {
          const auto* key = store.keys.data() + slots[i] * width + head;
          double score = 0.0;
          for (int32_t d = 0; d < params.head_dim; ++d) score += double{query[d]} * ToFloat(key[d]);
          score *= double{params.scale} * store.key_scales[static_cast<size_t>(slots[i] * params.kv_heads + h / group)];
          if (biases.cols > 0) {  // by head and distance
            const int64_t distances = biases.cols / params.heads;
            score += biases.data[h * distances + distances / 2 + first + static_cast<int64_t>(i) - batch.positions[r]];
          }
          if (params.softcap > 0.0f) score = params.softcap * std::tanh(score / params.softcap);
          weights[i] = score;
          highest = std::max(highest, score);
        }
        double total = sinks.cols > 0 ? std::exp(sinks.data[h] - highest) : 0.0;
        for (double& weight : weights) total += weight = std::exp(weight - highest);
        for (int32_t d = 0; d < params.head_dim; ++d) {
          double sum = 0.0;
          for (size_t i = 0; i < slots.size(); ++i) {
            sum += weights[i] * ToFloat(store.values[static_cast<size_t>(slots[i] * width + head + d)]) *
                   store.value_scales[static_cast<size_t>(slots[i] * params.kv_heads + h / group)];
          }
          out.row(r)[int64_t{h} * params.head_dim + d] = static_cast<float>(sum / total);
        }
      }
    }
  }
  return out;
}

template host::Buffer Reference::AttendWith(Context&, View, const KvCache<KvFp32>&, int32_t, const Batch&,
                                            const AttentionParams&, View, View);
template host::Buffer Reference::AttendWith(Context&, View, const KvCache<KvFp16>&, int32_t, const Batch&,
                                            const AttentionParams&, View, View);
template host::Buffer Reference::AttendWith(Context&, View, const KvCache<KvBf16>&, int32_t, const Batch&,
                                            const AttentionParams&, View, View);
template host::Buffer Reference::AttendWith(Context&, View, const KvCache<KvInt8>&, int32_t, const Batch&,
                                            const AttentionParams&, View, View);
template host::Buffer Reference::AttendWith(Context&, View, const KvCache<KvFp8>&, int32_t, const Batch&,
                                            const AttentionParams&, View, View);

}  // namespace inferflux::compute
