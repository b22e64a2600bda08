#include <algorithm>
#include <vector>

#include "compute/cpu/ops/attention_tiles.h"

namespace inferflux::compute {
namespace {

// Keys and values of each KV head, in the cache's own layout.
template <class T>
struct PagedSource {
  using Element = T;

  PagedSource(host::View queries, const cpu::KvCache<T>& kv, int32_t of_layer, const StepGeometry& step,
              const AttentionParams& attention)
      : q(queries),
        cache(kv),
        layer(of_layer),
        batch(step),
        params(attention),
        tile_rows(std::max(1, cpu::kTaskQueries / (attention.heads / attention.kv_heads))),
        value_dim(attention.head_dim) {}

  cpu::SeenPositions Seen(int32_t sequence, int32_t row) const {
    const int32_t position = batch.positions[row];
    const int32_t last = batch.positions[params.causal ? row : batch.query_starts[sequence + 1] - 1];
    if (params.window == 0) return {0, last};
    return {params.First(position), std::min(last, position + params.window - 1)};
  }

  void CopyQuery(int32_t row, int32_t first_head, int32_t heads, float* to) const {
    const float* from = q.row(row) + int64_t{first_head} * params.head_dim;
    std::transform(from, from + int64_t{heads} * params.head_dim, to, [&](float x) { return x * params.scale; });
  }

  class Spans {
   public:
    Spans(const PagedSource& source, const cpu::AttentionTile& tile, int32_t first, int32_t last, float*)
        : block_size_(source.batch.block_size) {
      const int32_t blocks = (last + block_size_) / block_size_;
      keys_.resize(static_cast<size_t>(blocks));
      values_.resize(static_cast<size_t>(blocks));
      for (int32_t b = first / block_size_; b < blocks; ++b) {  // earlier blocks may have been freed
        const int32_t block = source.batch.block_tables[source.batch.table_starts[tile.sequence] + b];
        keys_[b] = source.cache.keys(source.layer, block, tile.kv_head);
        values_[b] = source.cache.values(source.layer, block, tile.kv_head);
      }
    }
    const T* const* keys() const { return keys_.data(); }
    const T* const* values() const { return values_.data(); }
    int32_t block_size() const { return block_size_; }
    void Prepare(int32_t /*span*/) const {}

   private:
    int32_t block_size_;
    std::vector<const T*> keys_, values_;
  };

  host::View q;
  const cpu::KvCache<T>& cache;
  int32_t layer;
  const StepGeometry& batch;
  const AttentionParams& params;
  int32_t tile_rows;
  int32_t value_dim;
  int64_t scratch_floats = 0;
};

}  // namespace

template <class E>
host::Buffer Cpu::AttendWithSinks(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                  const AttentionParams& params, View sinks) {
  PagedSource<typename E::Storage> source(q, cache, layer, batch, params);
  return cpu::AttentionTiles(context, source, static_cast<int32_t>(q.rows), batch, params, sinks).Run();
}

template host::Buffer Cpu::AttendWithSinks<KvFp32>(Context&, View, const KvCache<KvFp32>&, int32_t, const Batch&,
                                                   const AttentionParams&, View);
template host::Buffer Cpu::AttendWithSinks<KvFp16>(Context&, View, const KvCache<KvFp16>&, int32_t, const Batch&,
                                                   const AttentionParams&, View);
template host::Buffer Cpu::AttendWithSinks<KvBf16>(Context&, View, const KvCache<KvBf16>&, int32_t, const Batch&,
                                                   const AttentionParams&, View);
template host::Buffer Cpu::AttendWithSinks<KvInt8>(Context&, View, const KvCache<KvInt8>&, int32_t, const Batch&,
                                                   const AttentionParams&, View);
template host::Buffer Cpu::AttendWithSinks<KvFp8>(Context&, View, const KvCache<KvFp8>&, int32_t, const Batch&,
                                                  const AttentionParams&, View);

}  // namespace inferflux::compute
