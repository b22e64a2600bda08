// Attention over latents. A span of latents is unpacked to floats, in the layout that the span kernels read, and serves
// all heads of a tile. Selected positions are read as if they followed one another: then a tile has one row.
#include <algorithm>
#include <vector>

#include "compute/cpu/ops/attention_tiles.h"
#include "compute/cpu/ops/row_ops.h"
#include "compute/host/head_matmul.h"
#include "compute/host/kv_element.h"

namespace inferflux::compute {
namespace {

auto UnpackKernelOf(const cpu::Kernels& kernels, float) { return kernels.unpack_fp32; }
auto UnpackKernelOf(const cpu::Kernels& kernels, Fp16) { return kernels.unpack_fp16; }
auto UnpackKernelOf(const cpu::Kernels& kernels, Bf16) { return kernels.unpack_bf16; }
auto UnpackKernelOf(const cpu::Kernels& kernels, int8_t) { return kernels.unpack_int8; }
auto UnpackKernelOf(const cpu::Kernels& kernels, Fp8) { return kernels.unpack_fp8; }

// The rows of a layer's latents, or of its indexer's keys.
template <class T>
class StoredRows {
 public:
  StoredRows(const cpu::KvCache<T>& cache, int32_t layer, const StepGeometry& batch, bool index)
      : cache_(cache),
        layer_(layer),
        batch_(batch),
        index_(index),
        dim_(index ? cache.shape.layers[layer].index : cache.shape.layers[layer].head_dim) {}

  int64_t dim() const { return dim_; }

  // `positions`: of the sequence; null: those from `first` on.
  void Unpack(const cpu::Kernels& kernels, int32_t sequence, const int32_t* positions, int32_t first, int count,
              float* keys, float* values) const {
    const T* rows[cpu::kSpan];
    float scales[cpu::kSpan];
    for (int i = 0; i < count; ++i) {
      const int32_t position = positions == nullptr ? first + i : positions[first + i];
      const int32_t block = batch_.block_tables[batch_.table_starts[sequence] + position / batch_.block_size];
      const int32_t inside = position % batch_.block_size;
      rows[i] =
          (index_ ? cache_.values(layer_, block, 0) : cache_.keys(layer_, block, 0)) + inside * cpu::PaddedHead(dim_);
      if constexpr (kStoredWithScales<T>) {
        scales[i] = (index_ ? cache_.value_scales(layer_, block, 0) : cache_.key_scales(layer_, block, 0))[inside];
      }
    }
    UnpackKernelOf(kernels, T{})(rows, kStoredWithScales<T> ? scales : nullptr, count, dim_, keys, values);
  }

 private:
  const cpu::KvCache<T>& cache_;
  int32_t layer_;
  const StepGeometry& batch_;
  bool index_;
  int64_t dim_;
};

template <class T>
struct LatentSource {
  using Element = float;

  LatentSource(const cpu::Kernels& of_isa, host::View queries, host::View rotated_queries, const cpu::KvCache<T>& cache,
               int32_t layer, const StepGeometry& step, const AttentionParams& attention,
               const host::Selection* positions)
      : kernels(of_isa),
        q(queries),
        rotated(rotated_queries),
        rows(cache, layer, step, false),
        batch(step),
        params(attention),
        selected(positions),
        tile_rows(positions != nullptr ? 1 : std::max(1, cpu::kTaskQueries / attention.heads)),
        value_dim(cache.shape.layers[layer].latent),
        scratch_floats(cpu::kSpan * (rows.dim() + cpu::PaddedHead(rows.dim()))) {}

  cpu::SeenPositions Seen(int32_t /*sequence*/, int32_t row) const {
    if (selected == nullptr) return {0, batch.positions[row]};
    return {0, static_cast<int32_t>(selected->rows[static_cast<size_t>(row)].size()) - 1};
  }

  void CopyQuery(int32_t row, int32_t first_head, int32_t heads, float* to) const {
    const int64_t tail = params.head_dim - value_dim;
    const auto scaled = [&](float x) { return x * params.scale; };
    for (int64_t h = first_head; h < first_head + heads; ++h) {
      to = std::transform(q.row(row) + h * value_dim, q.row(row) + (h + 1) * value_dim, to, scaled);
      to = std::transform(rotated.row(row) + h * tail, rotated.row(row) + (h + 1) * tail, to, scaled);
    }
  }

  // One span at a time, in the worker's memory.
  class Spans {
   public:
    Spans(const LatentSource& source, const cpu::AttentionTile& tile, int32_t /*first*/, int32_t last, float* scratch)
        : source_(source),
          sequence_(tile.sequence),
          last_(last),
          positions_(source.selected == nullptr ? nullptr
                                                : source.selected->rows[static_cast<size_t>(tile.first_row)].data()),
          keys_(static_cast<size_t>(last / cpu::kSpan + 1), scratch),
          values_(keys_.size(), scratch + cpu::kSpan * source.rows.dim()) {}
    const float* const* keys() const { return keys_.data(); }
    const float* const* values() const { return values_.data(); }
    int32_t block_size() const { return cpu::kSpan; }
    void Prepare(int32_t span) {
      const int32_t first = span * cpu::kSpan;
      const int count = std::min(cpu::kSpan, last_ + 1 - first);
      source_.rows.Unpack(source_.kernels, sequence_, positions_, first, count, keys_[0], values_[0]);
    }

   private:
    const LatentSource& source_;
    int32_t sequence_;
    int32_t last_;
    const int32_t* positions_;
    std::vector<float*> keys_, values_;  // the same memory for each span
  };

  const cpu::Kernels& kernels;
  host::View q, rotated;
  StoredRows<T> rows;
  const StepGeometry& batch;
  const AttentionParams& params;
  const host::Selection* selected;
  int32_t tile_rows;
  int32_t value_dim;
  int64_t scratch_floats;
};

// f(sequence, row) for each row of the step, on the pool. `cols`: floats that a row takes.
template <class F>
void ForStepRows(Cpu::Context& context, const StepGeometry& batch, int64_t cols, const F& f) {
  for (int32_t s = 0; s < batch.sequences(); ++s) {
    const int32_t first = batch.query_starts[s];
    cpu::ForRows(context, batch.query_starts[s + 1] - first, cols,
                 [&](int64_t i) { f(s, static_cast<int32_t>(first + i)); });
  }
}

// Stores a row, padded with zeros, and returns its scale.
template <class T>
float StoreRow(const std::vector<float>& row, T* to) {
  const auto count = static_cast<int32_t>(row.size());
  const float scale = host::KvScale<T>(row.data(), count);
  for (int32_t d = 0; d < count; ++d) to[d] = host::KvElement<T>(row[static_cast<size_t>(d)] / scale);
  std::fill(to + count, to + cpu::PaddedHead(count), T{});
  return scale;
}

}  // namespace

host::Buffer Cpu::HeadMatMul(Context& context, View x, const Experts& heads) {
  return host::HeadMatMul(context.arena, x, heads,
                          [&](View part, const Matrix& matrix) { return MatMul(context, part, matrix); });
}

template <class E>
void Cpu::AppendLatents(Context& context, KvCache<E>& cache, int32_t layer, View latents, View rotated,
                        const Batch& batch) {
  const int64_t width = cpu::PaddedHead(latents.cols + rotated.cols);
  ForStepRows(context, batch, width, [&](int32_t s, int32_t r) {
    std::vector<float> row(latents.row(r), latents.row(r) + latents.cols);
    row.insert(row.end(), rotated.row(r), rotated.row(r) + rotated.cols);
    const int32_t inside = batch.positions[r] % batch.block_size;
    const int32_t block = batch.block_tables[batch.table_starts[s] + batch.positions[r] / batch.block_size];
    const float scale = StoreRow(row, cache.keys(layer, block, 0) + inside * width);
    if constexpr (E::kScaled) cache.key_scales(layer, block, 0)[inside] = scale;
  });
}

template <class E>
void Cpu::AppendIndex(Context& context, KvCache<E>& cache, int32_t layer, View k, const Batch& batch) {
  ForStepRows(context, batch, k.cols, [&](int32_t s, int32_t r) {
    const int32_t inside = batch.positions[r] % batch.block_size;
    const int32_t block = batch.block_tables[batch.table_starts[s] + batch.positions[r] / batch.block_size];
    const std::vector<float> row(k.row(r), k.row(r) + k.cols);
    const float scale = StoreRow(row, cache.values(layer, block, 0) + inside * cpu::PaddedHead(k.cols));
    if constexpr (E::kScaled) cache.value_scales(layer, block, 0)[inside] = scale;
  });
}

template <class E>
host::Buffer Cpu::AttendLatents(Context& context, View q, View rotated, const KvCache<E>& cache, int32_t layer,
                                const Batch& batch, const AttentionParams& params, const Selection* selected) {
  LatentSource<typename E::Storage> source(context.kernels, q, rotated, cache, layer, batch, params, selected);
  return cpu::AttentionTiles(context, source, static_cast<int32_t>(q.rows), batch, params, View{}).Run();
}

template <class E>
host::Selection Cpu::SelectPositions(Context& context, View q, View weights, const KvCache<E>& cache, int32_t layer,
                                     const Batch& batch, const IndexParams& params) {
  const StoredRows<typename E::Storage> rows(cache, layer, batch, true);
  Selection out;
  out.rows.resize(static_cast<size_t>(q.rows));
  // A query's scores cost as much as its products with all positions.
  ForStepRows(context, batch, cpu::kRowGrain, [&](int32_t s, int32_t r) {
    const int32_t seen = batch.positions[r] + 1;
    std::vector<float> scores(static_cast<size_t>(seen));
    if (seen > params.top) {  // otherwise all are selected
      std::vector<float> keys(static_cast<size_t>(cpu::kSpan * rows.dim()));
      for (int32_t first = 0; first < seen; first += cpu::kSpan) {
        const int count = std::min(cpu::kSpan, seen - first);
        rows.Unpack(context.kernels, s, nullptr, first, count, keys.data(), nullptr);
        context.kernels.index_scores(q.row(r), weights.row(r), params.heads, params.head_dim, keys.data(), count,
                                     scores.data() + first);
      }
    }
    out.rows[static_cast<size_t>(r)] = host::BestPositions(scores, params.top);
  });
  return out;
}

template void Cpu::AppendLatents<KvFp32>(Context&, KvCache<KvFp32>&, int32_t, View, View, const Batch&);
template void Cpu::AppendIndex<KvFp32>(Context&, KvCache<KvFp32>&, int32_t, View, const Batch&);
template host::Buffer Cpu::AttendLatents<KvFp32>(Context&, View, View, const KvCache<KvFp32>&, int32_t, const Batch&,
                                                 const AttentionParams&, const Selection*);
template host::Selection Cpu::SelectPositions<KvFp32>(Context&, View, View, const KvCache<KvFp32>&, int32_t,
                                                      const Batch&, const IndexParams&);
template void Cpu::AppendLatents<KvFp16>(Context&, KvCache<KvFp16>&, int32_t, View, View, const Batch&);
template void Cpu::AppendIndex<KvFp16>(Context&, KvCache<KvFp16>&, int32_t, View, const Batch&);
template host::Buffer Cpu::AttendLatents<KvFp16>(Context&, View, View, const KvCache<KvFp16>&, int32_t, const Batch&,
                                                 const AttentionParams&, const Selection*);
template host::Selection Cpu::SelectPositions<KvFp16>(Context&, View, View, const KvCache<KvFp16>&, int32_t,
                                                      const Batch&, const IndexParams&);
template void Cpu::AppendLatents<KvBf16>(Context&, KvCache<KvBf16>&, int32_t, View, View, const Batch&);
template void Cpu::AppendIndex<KvBf16>(Context&, KvCache<KvBf16>&, int32_t, View, const Batch&);
template host::Buffer Cpu::AttendLatents<KvBf16>(Context&, View, View, const KvCache<KvBf16>&, int32_t, const Batch&,
                                                 const AttentionParams&, const Selection*);
template host::Selection Cpu::SelectPositions<KvBf16>(Context&, View, View, const KvCache<KvBf16>&, int32_t,
                                                      const Batch&, const IndexParams&);
template void Cpu::AppendLatents<KvInt8>(Context&, KvCache<KvInt8>&, int32_t, View, View, const Batch&);
template void Cpu::AppendIndex<KvInt8>(Context&, KvCache<KvInt8>&, int32_t, View, const Batch&);
template host::Buffer Cpu::AttendLatents<KvInt8>(Context&, View, View, const KvCache<KvInt8>&, int32_t, const Batch&,
                                                 const AttentionParams&, const Selection*);
template host::Selection Cpu::SelectPositions<KvInt8>(Context&, View, View, const KvCache<KvInt8>&, int32_t,
                                                      const Batch&, const IndexParams&);
template void Cpu::AppendLatents<KvFp8>(Context&, KvCache<KvFp8>&, int32_t, View, View, const Batch&);
template void Cpu::AppendIndex<KvFp8>(Context&, KvCache<KvFp8>&, int32_t, View, const Batch&);
template host::Buffer Cpu::AttendLatents<KvFp8>(Context&, View, View, const KvCache<KvFp8>&, int32_t, const Batch&,
                                                const AttentionParams&, const Selection*);
template host::Selection Cpu::SelectPositions<KvFp8>(Context&, View, View, const KvCache<KvFp8>&, int32_t, const Batch&,
                                                     const IndexParams&);

}  // namespace inferflux::compute
