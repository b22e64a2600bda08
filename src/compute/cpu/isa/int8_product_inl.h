// Products of int8 activations with block-quantised weights. Within a chunk everything is exact in int32 (by block:
// within a block); the float steps that follow are the same for one row and for many, in the order of the chunks.
// Included once an instruction set, after its lanes header.
#pragma once

#include <algorithm>

#include "compute/cpu/isa/ahead.h"
#include "compute/cpu/isa/tiles_inl.h"
#include "compute/cpu/isa/weight_sources_inl.h"
#include "compute/cpu/kernels.h"

namespace inferflux::compute::cpu {
namespace {

// sums[m] += M rows times a chunk of one panel, one scale a block, and perhaps a minimum. `x` is the first row's chunk,
// rows follow one another. `ahead` has the share of a later chunk that is to be fetched meanwhile.
template <int M, class Source>
inline void BlocksTile(const Source& w, const ActivationChunk* x, int blocks, Ahead ahead, float* sums,
                       int64_t stride) {
  Floats total[M];
  for (int m = 0; m < M; ++m) total[m] = LoadFloats(sums + m * stride);
  const int64_t step = ahead.StepOf(kBlocks);
  for (int b = 0; b < blocks; ++b) {
    ahead.Fetch(step);
    Ints dot[M];
    if constexpr (Source::kSigned) {
      for (int m = 0; m < M; ++m) dot[m] = SetInts(x[m].offsets[b]);
#pragma GCC unroll 8
      for (int g = 0; g < 8; ++g) {
        const Bytes weights = w.Group(b, g);
        for (int m = 0; m < M; ++m) dot[m] = DotSigned(dot[m], weights, LoadQuad(x[m].q + kBlock * b + kGroup * g));
      }
    } else {
      constexpr int kRun = SumGroups(Source::kMost);
#pragma GCC unroll 2
      for (int run = 0; run < 8; run += kRun) {
        // What starts with the offset, or with what there is.
        const auto offset = [&](int m) { return Source::kMinimums ? 0 : x[m].offsets[b]; };
        Sums sum[M];
        for (int m = 0; m < M; ++m) sum[m] = StartSums(offset(m));
#pragma GCC unroll 8
        for (int i = 0; i < kRun; ++i) {
          const Bytes weights = w.Group(b, run + i);
          for (int m = 0; m < M; ++m)
            sum[m] = AddGroup(sum[m], weights, LoadQuad(x[m].q + kBlock * b + kGroup * (run + i)));
        }
        for (int m = 0; m < M; ++m) dot[m] = run == 0 ? Widen(sum[m], offset(m)) : AddSums(dot[m], sum[m]);
      }
    }
    const Floats d = w.Scale(b);
    for (int m = 0; m < M; ++m) total[m] = Fma(ToFloats(dot[m]), Mul(d, SetFloats(x[m].scales[b])), total[m]);
    if constexpr (Source::kMinimums) {
      const Floats minimum = w.Minimum(b);
      for (int m = 0; m < M; ++m) {
        total[m] = Fma(minimum, SetFloats(x[m].scales[b] * static_cast<float>(x[m].sums[b])), total[m]);
      }
    }
  }
  for (int m = 0; m < M; ++m) StoreFloats(sums + m * stride, total[m]);
}

// What a sub-block's sum starts from: activations keep it for an offset of 32.
template <class Source>
inline int32_t OffsetOf(const ActivationChunk& x, int sub) {
  if constexpr (Source::kMinimums) {
    return 0;
  } else {
    return Source::kOffset / 32 * x.offsets[sub];
  }
}

// The same with integer scales a sub-block, one float scale a chunk, and perhaps minimums.
template <int M, class Source>
inline void ChunkTile(const Source& w, const ActivationChunk* x, Ahead ahead, float* sums, int64_t stride) {
  constexpr int kSubsInBlock = Source::kSubs / kBlocks;
  constexpr int kGroups = 8 / kSubsInBlock;
  constexpr int kRun = std::min(kGroups, SumGroups(Source::kMost));  // groups that are summed up before a scale comes in
  Ints total[M];
  for (int m = 0; m < M; ++m) total[m] = ZeroInts();
  const int64_t step = ahead.StepOf(kBlocks);
  for (int b = 0; b < kBlocks; ++b) {
    ahead.Fetch(step);
#pragma GCC unroll 2
    for (int h = 0; h < kSubsInBlock; ++h) {
      const int sub = kSubsInBlock * b + h;
      const Factors scale = w.Scale(sub);
#pragma GCC unroll 4
      for (int run = 0; run < kGroups; run += kRun) {
        Sums sum[M];
        for (int m = 0; m < M; ++m) sum[m] = StartSums(OffsetOf<Source>(x[m], sub));
#pragma GCC unroll 8
        for (int i = 0; i < kRun; ++i) {
          const int g = kGroups * h + run + i;
          const Bytes weights = w.Group(b, g);
          for (int m = 0; m < M; ++m) sum[m] = AddGroup(sum[m], weights, LoadQuad(x[m].q + kBlock * b + kGroup * g));
        }
        for (int m = 0; m < M; ++m) total[m] = AddScaled(total[m], sum[m], scale);
      }
      if constexpr (!Source::kMinimums && !kSumsHoldOffsets) {
        for (int m = 0; m < M; ++m) total[m] = AddScaledOffset(total[m], OffsetOf<Source>(x[m], sub), scale);
      }
    }
  }
  const Floats d = w.D();
  for (int m = 0; m < M; ++m) {
    const Floats scale = SetFloats(x[m].scales[0]);
    Floats sum = Fma(ToFloats(total[m]), Mul(d, scale), LoadFloats(sums + m * stride));
    if constexpr (Source::kMinimums) {
      Ints low = ZeroInts();
      if constexpr (Source::kSubs == kSubs16) {
        for (int sub = 0; sub < kSubs16; ++sub) low = AddScaledOffset(low, x[m].offsets[sub], w.Minimum(sub));
      } else {
        for (int two = 0; two < kBlocks / 2; ++two) low = DotPairs(low, w.Minimums(two), x[m].sums + 2 * two);
      }
      sum = Fma(ToFloats(low), Mul(w.MinimumsScale(), scale), sum);
    }
    StoreFloats(sums + m * stride, sum);
  }
}

// A format: its packed chunk, how a product reads it, and whether one row alone leaves the time to fetch ahead. Q8_0,
// Q4_0 and Q7_K are then read as fast as they come, which is better left to the machine's own prefetchers (27 to 22
// GB/s on one Zen 4 thread).
template <class ChunkType, class PackedSource, int kRowsOfTile, bool kFetchesForOneRow>
struct Format {
  using Chunk = ChunkType;
  using Source = PackedSource;
  static constexpr int kRows = kRowsOfTile;
  static constexpr bool kFetchesForOne = kFetchesForOneRow;
  template <int M>
  static void Tile(const Source& w, const ActivationChunk* x, int blocks, Ahead ahead, float* sums, int64_t stride) {
    if constexpr (requires { Source::kSubs; }) {
      ChunkTile<M>(w, x, ahead, sums, stride);
    } else {
      BlocksTile<M>(w, x, blocks, ahead, sums, stride);
    }
  }
};
using FormatQ8_0 = Format<ChunkQ8_0, PackedQ8_0, kBlockRows, false>;
using FormatQ4_0 = Format<ChunkQ4_0, PackedQ4_0, kBlockRows, false>;
using FormatQ4_1 = Format<ChunkQ4_1, PackedQ4_1, kBlockRows, true>;
using FormatQ5_1 = Format<ChunkQ5_1, PackedQ5_1, kBlockRows, true>;
using FormatIq4 = Format<ChunkTable4, PackedTable4<formats::kIq4Values>, kBlockRows, true>;
using FormatFp4 = Format<ChunkTable4, PackedTable4<formats::kFp4Doubled>, kBlockRows, true>;
using FormatQ2K = Format<ChunkQ2K, PackedQ2K, kChunkRows, true>;
using FormatQ7K = Format<ChunkQ7K, PackedQ7K, kChunkRows, false>;
using FormatQ4K = Format<ChunkQ4K, PackedQ4K, kChunkRows, true>;
using FormatQ5K = Format<ChunkQ5K, PackedQ5K, kChunkRows, true>;
using FormatQ6K = Format<ChunkQ6K, PackedQ6K, kChunkRows, true>;

inline int BlocksInChunk(int64_t inputs, int64_t chunk) {
  return static_cast<int>(std::min<int64_t>(kBlocks, inputs / kBlock - chunk * kBlocks));
}

// Each panel is read once, forwards, and unpacked in registers for one tile of rows after the other: that costs less
// than to store what is unpacked and read it again. While a chunk is multiplied, one some way ahead is fetched, evenly,
// and so are the lines that the results go to: one a row, far apart, they would cost up to a tenth of the time later.
template <class F>
void Int8Product(const ProductTask& task) {
  constexpr int64_t kAhead = 6144;  // bytes; 4,096 to 8,192 did equally well on Zen 4
  const int64_t chunks = (task.inputs + kChunk - 1) / kChunk;
  const int64_t tiles = (task.rows + F::kRows - 1) / F::kRows;
  auto* sums = reinterpret_cast<float*>(task.scratch);
  for (int64_t p = task.first_panel; p < task.last_panel; ++p) {
    const auto* panel = reinterpret_cast<const typename F::Chunk*>(task.panels) + p * chunks;
    std::fill_n(sums, task.rows * kPanel, 0.0f);
    for (int64_t c = 0; c < chunks; ++c) {
      const typename F::Source source{panel[c]};
      const ActivationChunk* x = task.activations + c * task.activation_rows;
      for (int64_t r = task.rows * c / chunks; r < task.rows * (c + 1) / chunks; ++r) {
        __builtin_prefetch(task.y + r * task.y_stride + p * kPanel, 1, 3);
      }
      const int blocks = BlocksInChunk(task.inputs, c);
      const bool fetches = F::kFetchesForOne || task.rows > 1;
      const Ahead ahead(reinterpret_cast<const char*>(panel + c) + kAhead, fetches ? sizeof(typename F::Chunk) : 0);
      ForTiles<F::kRows>(task.rows, [&]<int M>(int64_t row, int64_t tile) {
        F::template Tile<M>(source, x + row, blocks, ahead.Part(tile, tiles), sums + row * kPanel, kPanel);
      });
    }
    const int64_t outputs = std::min<int64_t>(kPanel, task.outputs - p * kPanel);
    for (int64_t r = 0; r < task.rows; ++r)
      std::copy_n(sums + r * kPanel, outputs, task.y + r * task.y_stride + p * kPanel);
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
