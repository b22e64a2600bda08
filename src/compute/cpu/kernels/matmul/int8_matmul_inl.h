// Products of int8 activations with block-quantised weights. Within a chunk everything is exact in int32 (by block:
// within a block); the float steps that follow are the same for one row and for many, in the order of the chunks.
// Included once an instruction set, after its lanes header.
#pragma once

#include <algorithm>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/float_scale_tile_inl.h"
#include "compute/cpu/kernels/matmul/float_tile_inl.h"
#include "compute/cpu/kernels/matmul/integer_scale_tile_inl.h"

namespace inferflux::compute::cpu {
namespace {

// A format: its packed chunk, how a product reads it, and whether one row alone leaves the time to fetch prefetch.
// Q8_0, Q4_0 are then read as fast as they come, which is better left to the machine's own prefetchers (27 to 22 GB/s
// on one Zen 4 thread).
template <PanelFormat kPanelFormat, class ChunkType, class PackedSource, int kRowsOfTile, bool kFetchesForOneRow>
struct Format {
  static constexpr PanelFormat kFormat = kPanelFormat;
  using Chunk = ChunkType;
  using Source = PackedSource;
  static constexpr int kRows = kRowsOfTile;
  static constexpr bool kFetchesForOne = kFetchesForOneRow;
  template <int M>
  static void Tile(const auto& w, const ActivationChunk* x, int blocks, Prefetch prefetch, float* sums,
                   int64_t stride) {
    if constexpr (requires { Source::kSubs; }) {
      ChunkTile<M>(w, x, prefetch, sums, stride);
    } else {
      BlocksTile<M>(w, x, blocks, prefetch, sums, stride);
    }
  }
};
using FormatQ8_0 = Format<PanelFormat::kQ8_0, ChunkQ8_0, PackedQ8_0, kBlockRows, false>;
using FormatZeroPoint4By32 =
    Format<PanelFormat::kZeroPoint4By32, ChunkZeroPoint4<1>, PackedZeroPoint4<1>, kBlockRows, true>;
using FormatZeroPoint4By128 = Format<PanelFormat::kZeroPoint4By128, ChunkZeroPoint4<kZeroPoint4Run>,
                                     PackedZeroPoint4<kZeroPoint4Run>, kBlockRows, true>;
using FormatQ4_0 = Format<PanelFormat::kQ4_0, ChunkQ4_0, PackedQ4_0, kBlockRows, false>;
using FormatQ4_1 = Format<PanelFormat::kQ4_1, ChunkQ4_1, PackedQ4_1, kBlockRows, true>;
using FormatQ5_0 = Format<PanelFormat::kQ5_0, ChunkQ5_0, PackedQ5_0, kBlockRows, true>;
using FormatQ5_1 = Format<PanelFormat::kQ5_1, ChunkQ5_1, PackedQ5_1, kBlockRows, true>;
using FormatIq4Nl = Format<PanelFormat::kIq4Nl, ChunkIq4Nl, PackedIq4<ChunkIq4Nl>, kBlockRows, true>;
using FormatIq4Xs = Format<PanelFormat::kIq4Xs, ChunkIq4Xs, PackedIq4<ChunkIq4Xs>, kBlockRows, true>;
using FormatFp4 = Format<PanelFormat::kFp4, ChunkFp4, PackedFp4<ChunkFp4>, kBlockRows, true>;
using FormatNvFp4 = Format<PanelFormat::kNvFp4, ChunkNvFp4, PackedNvFp4, kBlockRows, true>;
using FormatQ2K = Format<PanelFormat::kQ2K, ChunkQ2K, PackedQ2K, kChunkRows, true>;
using FormatQ3K = Format<PanelFormat::kQ3K, ChunkQ3K, PackedQ3K, kChunkRows, true>;
using FormatQ4K = Format<PanelFormat::kQ4K, ChunkQ4K, PackedQ4K, kChunkRows, true>;
using FormatQ5K = Format<PanelFormat::kQ5K, ChunkQ5K, PackedQ5K, kChunkRows, true>;
using FormatQ6K = Format<PanelFormat::kQ6K, ChunkQ6K, PackedQ6K, kChunkRows, true>;
using FormatCodebook = Format<PanelFormat::kCodebook, ChunkCodebook, PackedCodebook, kChunkRows, true>;

template <class... F>
struct FormatList {};
using Int8Formats = FormatList<FormatQ8_0, FormatZeroPoint4By32, FormatZeroPoint4By128, FormatQ4_0, FormatQ4_1,
                               FormatQ5_0, FormatQ5_1, FormatIq4Nl, FormatIq4Xs, FormatFp4, FormatNvFp4, FormatQ2K,
                               FormatQ3K, FormatQ4K, FormatQ5K, FormatQ6K, FormatCodebook>;

template <int kPart, int kParts, int kIndex = 0, class Use, class First, class... Rest>
inline void ForFormats(const Use& use, FormatList<First, Rest...>) {
  if constexpr (kIndex % kParts == kPart) use.template operator()<First>();
  if constexpr (sizeof...(Rest) > 0) ForFormats<kPart, kParts, kIndex + 1>(use, FormatList<Rest...>());
}

// Calls use.operator()<F>() for every kParts-th format from the kPart-th on.
template <int kPart, int kParts, class Use>
inline void ForFormats(const Use& use) {
  ForFormats<kPart, kParts>(use, Int8Formats());
}

// Chunk c of panel p.
template <class Chunk>
inline const Chunk& ChunkAt(const MatmulTask& task, int64_t p, int64_t c) {
  return reinterpret_cast<const Chunk*>(task.panels + p * task.panel_bytes)[c];
}

// How many blocks the inputs have in chunk c: all, but perhaps in the last one.
inline int BlocksInChunk(int64_t inputs, int64_t chunk) {
  return static_cast<int>(std::min<int64_t>(kBlocks, inputs / kBlock - chunk * kBlocks));
}

// Chunks of `inputs` that are multiplied panel by panel before the next ones come: as many as keep the activations of
// all rows in the second-level cache, in even shares.
inline int64_t ChunksAtOnce(int64_t chunks, int64_t rows) {
  constexpr int64_t kActivationBytes = 256 << 10;
  const int64_t most = std::max<int64_t>(1, kActivationBytes / (rows * static_cast<int64_t>(sizeof(ActivationChunk))));
  const int64_t slabs = (chunks + most - 1) / most;
  return (chunks + slabs - 1) / slabs;
}

inline void StorePanel(const float* sums, int64_t rows, int64_t outputs, float* y, int64_t stride) {
  if (outputs == kPanel) {
    for (int64_t r = 0; r < rows; ++r) StoreFloats(y + r * stride, LoadFloats(sums + r * kPanel));
  } else {
    for (int64_t r = 0; r < rows; ++r) std::copy_n(sums + r * kPanel, outputs, y + r * stride);
  }
}

// Calls multiply(chunk, x, blocks, prefetch, sums) for each chunk of each panel, panels forwards: x is the first row's
// chunk, rows follow one another; `ahead` is what is to be fetched meanwhile, evenly; and sums[row][16] is what the
// chunk's share is added to. The lines that the results go to are fetched too: one a row, far apart, they would cost up
// to a tenth of the time later.
template <class F, class Multiply>
inline void ForChunks(const MatmulTask& task, const Multiply& multiply) {
  constexpr int64_t kPrefetch = 6144;  // bytes; 4,096 to 8,192 did equally well on Zen 4
  const int64_t chunks = (task.inputs + kChunk - 1) / kChunk;
  const int64_t slab = ChunksAtOnce(chunks, task.rows);
  auto* all_sums = reinterpret_cast<float*>(task.scratch);  // [panel][row][16]
  std::fill_n(all_sums, (task.last_panel - task.first_panel) * task.rows * kPanel, 0.0f);
  for (int64_t first = 0; first < chunks; first += slab) {
    const int64_t last = std::min(first + slab, chunks);
    for (int64_t p = task.first_panel; p < task.last_panel; ++p) {
      const auto* panel = &ChunkAt<typename F::Chunk>(task, p, 0);
      float* sums = all_sums + (p - task.first_panel) * task.rows * kPanel;
      float* y = task.y + p * kPanel;
      for (int64_t c = first; c < last; ++c) {
        if (last == chunks) {
          const int64_t lines_end = task.rows * (c + 1 - first) / (last - first);
          for (int64_t r = task.rows * (c - first) / (last - first); r < lines_end; ++r) {
            __builtin_prefetch(y + r * task.y_stride, 1, 3);
          }
        }
        const bool fetches = F::kFetchesForOne || task.rows > 1;
        const Prefetch prefetch(reinterpret_cast<const char*>(panel + c) + kPrefetch,
                                fetches ? sizeof(typename F::Chunk) : 0);
        multiply(panel[c], task.activations + c * task.activation_rows, BlocksInChunk(task.inputs, c), prefetch, sums);
      }
      if (last == chunks) {
        StorePanel(sums, task.rows, std::min<int64_t>(kPanel, task.outputs - p * kPanel), y, task.y_stride);
      }
    }
  }
}

// Weights are unpacked once for all rows, or in registers for one tile of rows after the other: whichever costs less.
template <class F>
void Int8Matmul(const MatmulTask& task) {
  const int64_t tiles = (task.rows + F::kRows - 1) / F::kRows;
  ForChunks<F>(task, [&](const typename F::Chunk& chunk, const ActivationChunk* x, int blocks, const Prefetch& prefetch,
                         float* sums) {
    const auto multiply = [&](const auto& w) {
      ForTiles<F::kRows>(task.rows, [&]<int M>(int64_t row, int64_t tile) {
        F::template Tile<M>(w, x + row, blocks, prefetch.Part(tile, tiles), sums + row * kPanel, kPanel);
      });
    };
    if constexpr (kUnpacksOnce) {
      tiles > 1 ? multiply(UnpackedWeights<typename F::Source>(chunk, blocks)) : multiply(typename F::Source{chunk});
    } else {
      multiply(typename F::Source{chunk});
    }
  });
}

}  // namespace
}  // namespace inferflux::compute::cpu
