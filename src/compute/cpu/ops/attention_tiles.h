// Attention of a step in tiles: which rows share a task, which spans of positions it reads, and in which order the
// results are merged. Where keys and values come from is a Source.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compute/cpu/cpu_backend.h"

namespace inferflux::compute::cpu {

// The positions that a row sees: [first, last].
struct SeenPositions {
  int32_t first = 0;
  int32_t last = 0;
};

// A few adjacent rows of one sequence and one KV head: rows * (heads / kv_heads) queries.
struct AttentionTile {
  int32_t sequence = 0;
  int32_t first_row = 0;
  int32_t rows = 0;
  int32_t kv_head = 0;
  int32_t first_span = 0;
  int32_t last_span = 0;   // exclusive
  int32_t first_slot = 0;  // index of its spans' sums, if spans are distributed over workers
};

inline auto SpanKernelOf(const Kernels& kernels, float) { return kernels.span_fp32; }
inline auto SpanKernelOf(const Kernels& kernels, Fp16) { return kernels.span_fp16; }
inline auto SpanKernelOf(const Kernels& kernels, Bf16) { return kernels.span_bf16; }
inline auto SpanKernelOf(const Kernels& kernels, int8_t) { return kernels.span_int8; }
inline auto SpanKernelOf(const Kernels& kernels, Fp8) { return kernels.span_fp8; }

// What a Source gives:
//   Element              the type of the keys and values that the kernel reads
//   tile_rows            the most rows of a tile
//   value_dim            values of a head in the result
//   scratch_floats       memory of a worker
//   Seen(sequence, row)  the positions that the row sees
//   CopyQuery(row, first_head, heads, to)  scaled queries, [heads, head_dim]
//   Spans(source, tile, first, last, scratch)  what the kernel reads of a tile's positions [first, last]: keys(),
//                        values() and block_size() as in AttentionTask, and Prepare(span), called before each span
template <class Source>
class AttentionTiles {
  using T = typename Source::Element;

 public:
  AttentionTiles(Cpu::Context& context, Source& source, int32_t rows, const StepGeometry& batch,
                 const AttentionParams& params, host::View sinks)
      : context_(context),
        source_(source),
        batch_(batch),
        params_(params),
        sinks_(sinks),
        group_(params.heads / params.kv_heads),
        width_(PaddedHead(params.head_dim)),
        tile_rows_(source.tile_rows),
        out_(context.arena.Allocate(rows, int64_t{params.heads} * source.value_dim)) {
    ListTiles();
  }

  host::Buffer Run() && {
    const int workers = context_.pool.workers();
    scratch_ = context_.arena.Allocate(workers, ScratchFloats());
    if (static_cast<int>(tiles_.size()) < 2 * workers && slots_ > static_cast<int>(tiles_.size())) {
      ShareSpans();
    } else {
      context_.pool.ParallelFor(static_cast<int64_t>(tiles_.size()), 1, [&](int64_t begin, int64_t, int worker) {
        const AttentionTile& tile = tiles_[begin];
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
    float* own;          // the source's
  };

  int Queries(const AttentionTile& tile) const { return tile.rows * group_; }
  int64_t SumsFloats() const { return tile_rows_ * group_ * (width_ + 2); }
  int64_t ScratchFloats() const {
    return kScoreFloats + int64_t{tile_rows_} * group_ * params_.head_dim + 2 * SumsFloats() + source_.scratch_floats;
  }

  AttentionSums SumsAt(float* memory) const {
    const int64_t queries = int64_t{tile_rows_} * group_;
    return {memory, memory + queries, memory + 2 * queries};
  }

  Scratch ScratchOf(int worker, const AttentionTile& tile) {
    Scratch out;
    float* memory = scratch_.row(worker);
    out.scores = memory;
    memory += kScoreFloats;
    out.part = SumsAt(memory);
    out.sums = SumsAt(memory + SumsFloats());
    out.q = memory + 2 * SumsFloats();
    float* to = out.q;
    out.own = to + int64_t{tile_rows_} * group_ * params_.head_dim;
    for (int32_t r = tile.first_row; r < tile.first_row + tile.rows; ++r) {
      source_.CopyQuery(r, tile.kv_head * group_, group_, to);
      to += int64_t{group_} * params_.head_dim;
    }
    return out;
  }

  void ListTiles() {
    for (int32_t s = 0; s < batch_.sequences(); ++s) {
      const int32_t end = batch_.query_starts[s + 1];
      for (int32_t row = batch_.query_starts[s]; row < end; row += tile_rows_) {
        AttentionTile tile{.sequence = s, .first_row = row, .rows = std::min(tile_rows_, end - row)};
        tile.first_span = source_.Seen(s, row).first / kSpan;
        tile.last_span = source_.Seen(s, row + tile.rows - 1).last / kSpan + 1;
        for (tile.kv_head = 0; tile.kv_head < params_.kv_heads; ++tile.kv_head) {
          tile.first_slot = slots_;
          slots_ += tile.last_span - tile.first_span;
          tiles_.push_back(tile);
        }
      }
    }
  }

  // Computes what the tile's queries see in the spans [first, last), span by span, starting from zero.
  void Gather(const AttentionTile& tile, int32_t first, int32_t last, Scratch& scratch, const AttentionSums& into) {
    const int queries = Queries(tile);
    std::vector<int32_t> seen(static_cast<size_t>(2 * queries));
    for (int i = 0; i < queries; ++i) {
      const SeenPositions of_row = source_.Seen(tile.sequence, tile.first_row + i / group_);
      seen[i] = of_row.first;
      seen[queries + i] = of_row.last;
    }
    typename Source::Spans spans(source_, tile, seen.front(), seen.back(), scratch.own);
    const AttentionTask<T> task{.queries = queries,
                                .q = scratch.q,
                                .first = seen.data(),
                                .last = seen.data() + queries,
                                .keys = spans.keys(),
                                .values = spans.values(),
                                .block_size = spans.block_size(),
                                .head_dim = params_.head_dim,
                                .softcap = params_.softcap,
                                .scores = scratch.scores};
    std::fill_n(into.total, queries, 0.0f);
    for (int32_t span = first; span < last; ++span) {
      spans.Prepare(span);
      SpanKernelOf(context_.kernels, T{})(task, span, scratch.part);
      context_.kernels.merge(queries, width_, scratch.part, into);
    }
  }

  void Finish(const AttentionTile& tile, const AttentionSums& sums, const AttentionSums& spare) {
    const int queries = Queries(tile);
    if (sinks_.cols > 0) {  // a score without a value
      std::fill_n(spare.values, queries * width_, 0.0f);
      std::fill_n(spare.total, queries, 1.0f);
      for (int i = 0; i < queries; ++i) spare.highest[i] = sinks_.data[tile.kv_head * group_ + i % group_];
      context_.kernels.merge(queries, width_, spare, sums);
    }
    for (int i = 0; i < queries; ++i) {
      const int32_t head = tile.kv_head * group_ + i % group_;
      float* to = out_.row(tile.first_row + i / group_) + int64_t{head} * source_.value_dim;
      context_.kernels.scale(sums.values + i * width_, 1.0f / sums.total[i], to, source_.value_dim);
    }
  }

  // For few tiles and long contexts, each span of each tile is a unit of work; a tile's spans are then merged in order.
  void ShareSpans() {
    host::Buffer slots = context_.arena.Allocate(slots_, SumsFloats());
    std::vector<int32_t> tile_of(static_cast<size_t>(slots_));
    for (size_t t = 0; t < tiles_.size(); ++t) {
      const AttentionTile& tile = tiles_[t];
      std::fill_n(tile_of.begin() + tile.first_slot, tile.last_span - tile.first_span, static_cast<int32_t>(t));
    }
    context_.pool.ParallelFor(slots_, 1, [&](int64_t slot, int64_t, int worker) {
      const AttentionTile& tile = tiles_[tile_of[slot]];
      Scratch scratch = ScratchOf(worker, tile);
      const auto span = static_cast<int32_t>(tile.first_span + slot - tile.first_slot);
      Gather(tile, span, span + 1, scratch, SumsAt(slots.row(slot)));
    });
    context_.pool.ParallelFor(static_cast<int64_t>(tiles_.size()), 1, [&](int64_t begin, int64_t, int worker) {
      const AttentionTile& tile = tiles_[begin];
      Scratch scratch = ScratchOf(worker, tile);
      std::fill_n(scratch.sums.total, Queries(tile), 0.0f);
      for (int32_t i = 0; i < tile.last_span - tile.first_span; ++i) {
        context_.kernels.merge(Queries(tile), width_, SumsAt(slots.row(tile.first_slot + i)), scratch.sums);
      }
      Finish(tile, scratch.sums, scratch.part);
    });
  }

  Cpu::Context& context_;
  Source& source_;
  const StepGeometry& batch_;
  const AttentionParams& params_;
  host::View sinks_;
  int32_t group_;
  int64_t width_;
  int32_t tile_rows_;
  host::Buffer out_;
  host::Buffer scratch_;
  std::vector<AttentionTile> tiles_;
  int32_t slots_ = 0;
};

}  // namespace inferflux::compute::cpu
