// Products of int8 activations with block-quantised weights. Within a chunk everything is exact in int32 (by block:
// within a block); the float steps that follow are the same for one row and for many, in the order of the chunks.
// Included once an instruction set, after its lanes header.
#pragma once

#include <algorithm>
#include <utility>

#include "compute/cpu/isa/weight_sources_inl.h"
#include "compute/cpu/kernels.h"

namespace inferflux::compute::cpu {
namespace {

// Asks for an eighth of what lies some way ahead in the stream of chunks; past the end it is a hint that comes to
// nothing. Only where there is enough to do with what has come: Q8_0, which is read as fast as it comes, is better left
// to the machine's own prefetchers (27 to 22 GB/s on one Zen 4 thread).
template <class Chunk>
inline void Prefetch(const Chunk& chunk, int block) {
  constexpr int kAhead = 6144;  // bytes; 4,096 to 8,192 did equally well on Zen 4, 16,384 worse
  const char* at = reinterpret_cast<const char*>(&chunk) + kAhead + sizeof(Chunk) / 64 * block / 8 * 64;
#pragma GCC unroll 10
  for (int line = 0; line < static_cast<int>((sizeof(Chunk) / 64 + 7) / 8); ++line)
    __builtin_prefetch(at + 64 * line, 0, 3);
}

// sums[m][n] += chunk product, one scale a block. `x` is the first row's chunk, rows follow one another.
template <int M, int N, class Source>
inline void BlocksTile(const Source* w, const ActivationChunk* x, int blocks, float* sums, int64_t stride) {
  Floats total[M][N];
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) total[m][n] = LoadFloats(sums + m * stride + n * kPanel);
  }
  for (int b = 0; b < blocks; ++b) {
    Ints dot[M][N];
    for (int m = 0; m < M; ++m) {
      for (int n = 0; n < N; ++n) dot[m][n] = SetInts(x[m].offsets[b]);
    }
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
      Bytes weights[N];
      for (int n = 0; n < N; ++n) weights[n] = w[n].Group(b, g);
      for (int m = 0; m < M; ++m) {
        const Quad four = LoadQuad(x[m].q + kBlock * b + kGroup * g);
        for (int n = 0; n < N; ++n) {
          dot[m][n] = Source::kSigned ? DotSigned(dot[m][n], weights[n], four) : Dot(dot[m][n], weights[n], four);
        }
      }
    }
    for (int n = 0; n < N; ++n) {
      const Floats d = w[n].Scale(b);
      for (int m = 0; m < M; ++m) {
        total[m][n] = Fma(ToFloats(dot[m][n]), Mul(d, SetFloats(x[m].scales[b])), total[m][n]);
      }
    }
  }
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) StoreFloats(sums + m * stride + n * kPanel, total[m][n]);
  }
}

// The same with integer scales a sub-block, one float scale a chunk, and perhaps minimums.
template <int M, int N, class Source>
inline void ChunkTile(const Source* w, const ActivationChunk* x, float* sums, int64_t stride) {
  constexpr int kSubsInBlock = Source::kSubs / kBlocks;
  constexpr int kGroups = 8 / kSubsInBlock;
  Ints total[M][N];
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) total[m][n] = ZeroInts();
  }
  for (int b = 0; b < kBlocks; ++b) {
    if constexpr (M == 1 && requires { w->chunk; }) Prefetch(w->chunk, b);
#pragma GCC unroll 2
    for (int h = 0; h < kSubsInBlock; ++h) {
      const int sub = kSubsInBlock * b + h;
      Ints dot[M][N];
      for (int m = 0; m < M; ++m) {
        for (int n = 0; n < N; ++n) dot[m][n] = Source::kMinimums ? ZeroInts() : SetInts(x[m].offsets[sub]);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kGroups; ++i) {
        const int g = kGroups * h + i;
        Bytes weights[N];
        for (int n = 0; n < N; ++n) weights[n] = w[n].Group(b, g);
        for (int m = 0; m < M; ++m) {
          const Quad four = LoadQuad(x[m].q + kBlock * b + kGroup * g);
          for (int n = 0; n < N; ++n) dot[m][n] = Dot(dot[m][n], weights[n], four);
        }
      }
      for (int n = 0; n < N; ++n) {
        const Ints scale = w[n].Scale(sub);
        for (int m = 0; m < M; ++m) total[m][n] = MulAdd(dot[m][n], scale, total[m][n]);
      }
    }
  }
  for (int n = 0; n < N; ++n) {
    const Floats d = w[n].D();
    for (int m = 0; m < M; ++m) {
      float* at = sums + m * stride + n * kPanel;
      const Floats scale = SetFloats(x[m].scales[0]);
      Floats sum = Fma(ToFloats(total[m][n]), Mul(d, scale), LoadFloats(at));
      if constexpr (Source::kMinimums) {
        Ints low = ZeroInts();
        for (int two = 0; two < kBlocks / 2; ++two) low = DotPairs(low, w[n].Minimums(two), x[m].sums + 2 * two);
        sum = Fma(ToFloats(low), Mul(w[n].NegativeDmin(), scale), sum);
      }
      StoreFloats(at, sum);
    }
  }
}

// A format: its packed chunk, how one row reads it, how many rows do, and how many of these make a tile.
template <class ChunkType, class PackedSource, class UnpackedSource, int kRowsOfTile = kTileRows>
struct Format {
  static constexpr int kRows = kRowsOfTile;
  using Chunk = ChunkType;
  using Packed = PackedSource;
  using Unpacked = UnpackedSource;
  template <int M, int N, class Source>
  static void Tile(const Source* w, const ActivationChunk* x, int blocks, float* sums, int64_t stride) {
    if constexpr (requires { Source::kSubs; }) {
      ChunkTile<M, N>(w, x, sums, stride);
    } else {
      BlocksTile<M, N>(w, x, blocks, sums, stride);
    }
  }
};
using FormatQ8_0 = Format<ChunkQ8_0, PackedQ8_0, UnpackedBlocks<true>>;
using FormatQ4_0 = Format<ChunkQ4_0, PackedQ4_0, UnpackedBlocks<false>>;
using FormatQ4K = Format<ChunkQ4K, PackedQ4K, UnpackedChunk<8, true>>;
using FormatQ5K = Format<ChunkQ5K, PackedQ5K, UnpackedChunk<8, true>>;
using FormatQ6K = Format<ChunkQ6K, PackedQ6K, UnpackedChunk<16, false>, kFineTileRows>;

inline int BlocksInChunk(int64_t inputs, int64_t chunk) {
  return static_cast<int>(std::min<int64_t>(kBlocks, inputs / kBlock - chunk * kBlocks));
}

inline void StoreFirst(const float* from, float* to, int64_t outputs) {
  std::copy_n(from, std::min<int64_t>(kPanel, outputs), to);
}

// One row: a panel is read once, forwards, and unpacked in registers.
template <class F>
void RowProduct(const ProductTask& task) {
  const int64_t chunks = (task.inputs + kChunk - 1) / kChunk;
  const auto* panels = reinterpret_cast<const typename F::Chunk*>(task.panels);
  for (int64_t p = task.first_panel; p < task.last_panel; ++p) {
    alignas(64) float sums[kPanel] = {};
    for (int64_t c = 0; c < chunks; ++c) {
      const typename F::Packed source{panels[p * chunks + c]};
      F::template Tile<1, 1>(&source, task.activations + c * task.activation_rows, BlocksInChunk(task.inputs, c), sums,
                             kPanel);
    }
    StoreFirst(sums, task.y + p * kPanel, task.outputs - p * kPanel);
  }
}

// M rows against `panels` unpacked panels.
template <class F, int M>
void RowTile(const typename F::Unpacked* w, int64_t panels, const ActivationChunk* x, int blocks, float* sums,
             int64_t stride) {
  int64_t n = 0;
  for (; n + kTilePanels <= panels; n += kTilePanels) {
    F::template Tile<M, kTilePanels>(w + n, x, blocks, sums + n * kPanel, stride);
  }
  if constexpr (kTilePanels > 1) {
    for (; n < panels; ++n) F::template Tile<M, 1>(w + n, x, blocks, sums + n * kPanel, stride);
  }
}

template <class F, size_t... kRest>
void LastRows(std::index_sequence<kRest...>, int64_t rows, const typename F::Unpacked* w, int64_t panels,
              const ActivationChunk* x, int blocks, float* sums, int64_t stride) {
  ((rows == int64_t{kRest} + 1 ? RowTile<F, kRest + 1>(w, panels, x, blocks, sums, stride) : void()), ...);
}

// Many rows: a few panels are unpacked a chunk at a time and shared by all rows; the sums wait in scratch.
template <class F>
void RowsProduct(const ProductTask& task) {
  const int64_t chunks = (task.inputs + kChunk - 1) / kChunk;
  const auto* packed = reinterpret_cast<const typename F::Chunk*>(task.panels);
  auto* unpacked = reinterpret_cast<typename F::Unpacked*>(task.scratch);
  auto* sums = reinterpret_cast<float*>(task.scratch + kTaskPanels * 8192);
  static_assert(sizeof(typename F::Unpacked) <= 8192);
  constexpr int64_t kStride = kTaskPanels * kPanel;

  for (int64_t first = task.first_panel; first < task.last_panel; first += kTaskPanels) {
    const int64_t panels = std::min(kTaskPanels, task.last_panel - first);
    std::fill_n(sums, task.rows * kStride, 0.0f);
    for (int64_t c = 0; c < chunks; ++c) {
      const int blocks = BlocksInChunk(task.inputs, c);
      for (int64_t n = 0; n < panels; ++n) {
        unpacked[n].Unpack(typename F::Packed{packed[(first + n) * chunks + c]}, blocks);
      }
      const ActivationChunk* x = task.activations + c * task.activation_rows;
      int64_t r = 0;
      for (; r + F::kRows <= task.rows; r += F::kRows) {
        RowTile<F, F::kRows>(unpacked, panels, x + r, blocks, sums + r * kStride, kStride);
      }
      LastRows<F>(std::make_index_sequence<F::kRows - 1>{}, task.rows - r, unpacked, panels, x + r, blocks,
                  sums + r * kStride, kStride);
    }
    for (int64_t r = 0; r < task.rows; ++r) {
      std::copy_n(sums + r * kStride, std::min(panels * kPanel, task.outputs - first * kPanel),
                  task.y + r * task.y_stride + first * kPanel);
    }
  }
}

template <class F>
void Int8Product(const ProductTask& task) {
  if (task.rows == 1) {
    RowProduct<F>(task);
  } else {
    RowsProduct<F>(task);
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
