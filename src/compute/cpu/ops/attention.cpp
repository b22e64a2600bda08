#include <algorithm>
#include <vector>

#include "compute/cpu/cpu_backend.h"

namespace inferflux::compute {
namespace {

using cpu::AttentionSums;
using cpu::AttentionTask;

// A few adjacent rows of one sequence and one KV head: rows * (heads / kv_heads) queries.
struct Tile {
  int32_t sequence = 0;
  int32_t first_row = 0;
  int32_t rows = 0;
  int32_t kv_head = 0;
  int32_t first_span = 0;
  int32_t last_span = 0;   // exclusive
  int32_t first_slot = 0;  // index of its spans' sums, if spans are distributed over workers
};

auto SpanKernelOf(const cpu::Kernels& kernels, float) { return kernels.span_fp32; }
auto SpanKernelOf(const cpu::Kernels& kernels, Fp16) { return kernels.span_fp16; }
auto SpanKernelOf(const cpu::Kernels& kernels, Bf16) { return kernels.span_bf16; }
auto SpanKernelOf(const cpu::Kernels& kernels, int8_t) { return kernels.span_int8; }
auto SpanKernelOf(const cpu::Kernels& kernels, Fp8) { return kernels.span_fp8; }

template <class T>
class Attention {
 public:
  Attention(Cpu::Context& context, host::View q, const cpu::KvCache<T>& cache, int32_t layer, const StepGeometry& batch,
            const AttentionParams& params, host::View sinks)
      : context_(context),
        q_(q),
        cache_(cache),
        layer_(layer),
        batch_(batch),
        params_(params),
        sinks_(sinks),
        group_(params.heads / params.kv_heads),
        width_(cpu::PaddedHead(params.head_dim)),
        tile_rows_(std::max(1, cpu::kTaskQueries / group_)),
        out_(context.arena.Allocate(q.rows, q.cols)) {
    ListTiles();
  }

  host::Buffer Run() && {
    const int workers = context_.pool.workers();
    scratch_ = context_.arena.Allocate(workers, ScratchFloats());
    if (static_cast<int>(tiles_.size()) < 2 * workers && slots_ > static_cast<int>(tiles_.size())) {
      ShareSpans();
    } else {
      context_.pool.ParallelFor(static_cast<int64_t>(tiles_.size()), 1, [&](int64_t begin, int64_t, int worker) {
        const Tile& tile = tiles_[begin];
        Scratch scratch = ScratchOf(worker, tile);
        Gather(tile, tile.first_span, tile.last_span, scratch, scratch.sums);
        Finish(tile, scratch.sums, scratch.part);
      });
    }
    return std::move(out_);
  }

 private:
  struct Scratch {
    float* q;
    float* scores;
    AttentionSums part;  // of one span
    AttentionSums sums;  // of all so far
  };

  int Queries(const Tile& tile) const { return tile.rows * group_; }
  int64_t SumsFloats() const { return tile_rows_ * group_ * (width_ + 2); }
  int64_t ScratchFloats() const {
    return cpu::kScoreFloats + int64_t{tile_rows_} * group_ * params_.head_dim + 2 * SumsFloats();
  }

  AttentionSums SumsAt(float* memory) const {
    const int64_t queries = int64_t{tile_rows_} * group_;
    return {memory, memory + queries, memory + 2 * queries};
  }

  Scratch ScratchOf(int worker, const Tile& tile) {
    Scratch out;
    float* memory = scratch_.row(worker);
    out.scores = memory;
    memory += cpu::kScoreFloats;
    out.part = SumsAt(memory);
    out.sums = SumsAt(memory + SumsFloats());
    out.q = memory + 2 * SumsFloats();
    float* to = out.q;
    for (int32_t r = tile.first_row; r < tile.first_row + tile.rows; ++r) {
      const float* from = q_.row(r) + int64_t{tile.kv_head} * group_ * params_.head_dim;
      to = std::transform(from, from + group_ * params_.head_dim, to, [&](float x) { return x * params_.scale; });
    }
    return out;
  }

  int32_t FirstSeen(int32_t row) const {
    return params_.window > 0 ? std::max(0, batch_.positions[row] - params_.window + 1) : 0;
  }

  int32_t LastSeen(int32_t sequence, int32_t row) const {
    return batch_.positions[params_.causal ? row : batch_.query_starts[sequence + 1] - 1];
  }

  void ListTiles() {
    for (int32_t s = 0; s < batch_.sequences(); ++s) {
      const int32_t end = batch_.query_starts[s + 1];
      for (int32_t row = batch_.query_starts[s]; row < end; row += tile_rows_) {
        Tile tile{.sequence = s, .first_row = row, .rows = std::min(tile_rows_, end - row)};
        tile.first_span = FirstSeen(row) / cpu::kSpan;
        tile.last_span = LastSeen(s, row + tile.rows - 1) / cpu::kSpan + 1;
        for (tile.kv_head = 0; tile.kv_head < params_.kv_heads; ++tile.kv_head) {
          tile.first_slot = slots_;
          slots_ += tile.last_span - tile.first_span;
          tiles_.push_back(tile);
        }
      }
    }
  }

  // Computes what the tile's queries see in the spans [first, last), span by span, starting from zero.
  void Gather(const Tile& tile, int32_t first, int32_t last, Scratch& scratch, const AttentionSums& into) {
    const int queries = Queries(tile);
    std::vector<int32_t> seen(static_cast<size_t>(2 * queries));
    for (int i = 0; i < queries; ++i) {
      seen[i] = FirstSeen(tile.first_row + i / group_);
      seen[queries + i] = LastSeen(tile.sequence, tile.first_row + i / group_);
    }
    const int32_t blocks = (seen.back() + batch_.block_size) / batch_.block_size;
    std::vector<const T*> keys(static_cast<size_t>(blocks));
    std::vector<const T*> values(static_cast<size_t>(blocks));
    for (int32_t b = seen.front() / batch_.block_size; b < blocks; ++b) {  // earlier blocks may have been freed
      const int32_t block = batch_.block_tables[batch_.table_starts[tile.sequence] + b];
      keys[b] = cache_.keys(layer_, block, tile.kv_head);
      values[b] = cache_.values(layer_, block, tile.kv_head);
    }
    const AttentionTask<T> task{.queries = queries,
                                .q = scratch.q,
                                .first = seen.data(),
                                .last = seen.data() + queries,
                                .keys = keys.data(),
                                .values = values.data(),
                                .block_size = batch_.block_size,
                                .head_dim = params_.head_dim,
                                .softcap = params_.softcap,
                                .scores = scratch.scores};
    std::fill_n(into.total, queries, 0.0f);
    for (int32_t span = first; span < last; ++span) {
      SpanKernelOf(context_.kernels, T{})(task, span, scratch.part);
      context_.kernels.merge(queries, width_, scratch.part, into);
    }
  }

  void Finish(const Tile& tile, const AttentionSums& sums, const AttentionSums& spare) {
    const int queries = Queries(tile);
    if (sinks_.cols > 0) {  // a score without a value
      std::fill_n(spare.values, queries * width_, 0.0f);
      std::fill_n(spare.total, queries, 1.0f);
      for (int i = 0; i < queries; ++i) spare.highest[i] = sinks_.data[tile.kv_head * group_ + i % group_];
      context_.kernels.merge(queries, width_, spare, sums);
    }
    for (int i = 0; i < queries; ++i) {
      const int32_t head = tile.kv_head * group_ + i % group_;
      float* to = out_.row(tile.first_row + i / group_) + int64_t{head} * params_.head_dim;
      context_.kernels.scale(sums.values + i * width_, 1.0f / sums.total[i], to, params_.head_dim);
    }
  }

  // For few tiles and long contexts, each span of each tile is a unit of work; a tile's spans are then merged in order.
  void ShareSpans() {
    host::Buffer slots = context_.arena.Allocate(slots_, SumsFloats());
    std::vector<int32_t> tile_of(static_cast<size_t>(slots_));
    for (size_t t = 0; t < tiles_.size(); ++t) {
      const Tile& tile = tiles_[t];
      std::fill_n(tile_of.begin() + tile.first_slot, tile.last_span - tile.first_span, static_cast<int32_t>(t));
    }
    context_.pool.ParallelFor(slots_, 1, [&](int64_t slot, int64_t, int worker) {
      const Tile& tile = tiles_[tile_of[slot]];
      Scratch scratch = ScratchOf(worker, tile);
      const auto span = static_cast<int32_t>(tile.first_span + slot - tile.first_slot);
      Gather(tile, span, span + 1, scratch, SumsAt(slots.row(slot)));
    });
    context_.pool.ParallelFor(static_cast<int64_t>(tiles_.size()), 1, [&](int64_t begin, int64_t, int worker) {
      const Tile& tile = tiles_[begin];
      Scratch scratch = ScratchOf(worker, tile);
      std::fill_n(scratch.sums.total, Queries(tile), 0.0f);
      for (int32_t i = 0; i < tile.last_span - tile.first_span; ++i) {
        context_.kernels.merge(Queries(tile), width_, SumsAt(slots.row(tile.first_slot + i)), scratch.sums);
      }
      Finish(tile, scratch.sums, scratch.part);
    });
  }

  Cpu::Context& context_;
  host::View q_;
  const cpu::KvCache<T>& cache_;
  int32_t layer_;
  const StepGeometry& batch_;
  const AttentionParams& params_;
  host::View sinks_;
  int32_t group_;
  int64_t width_;
  int32_t tile_rows_;
  host::Buffer out_;
  host::Buffer scratch_;
  std::vector<Tile> tiles_;
  int32_t slots_ = 0;
};

}  // namespace

template <class E>
host::Buffer Cpu::AttendWithSinks(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                  const AttentionParams& params, View sinks) {
  return Attention<typename E::Storage>(context, q, cache, layer, batch, params, sinks).Run();
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
