// Matmuls of int8 activations with block-quantised weights. Within a chunk everything is exact in int32 (by block:
// within a block); the float steps after it are the same for one row and for many, in the order of the chunks. Included
// once per instruction set, after its lanes header.
#pragma once

#include <algorithm>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/float_scale_tile_inl.h"
#include "compute/cpu/kernels/matmul/float_tile_inl.h"
#include "compute/cpu/kernels/matmul/integer_scale_tile_inl.h"

namespace inferflux::compute::cpu {
namespace {

// Rows that a tile multiplies at once: as many as fit into registers.
template <class Format>
constexpr int kRowsOfTile = kIntegerScales<Format> ? kChunkRows : kBlockRows;

template <class Format>
constexpr bool PrefetchesOneRow() {
  if constexpr (requires { Format::kPrefetchOneRow; }) return Format::kPrefetchOneRow;
  return true;
}

// sums[m] += M rows times a chunk of one panel with `blocks` blocks of inputs. w is an Unpacker<Format>, or the chunk
// that it has unpacked.
template <class Format, int M>
inline void MultiplyTile(const auto& w, const ActivationChunk* x, int blocks, Prefetch prefetch, float* sums,
                         int64_t stride) {
  if constexpr (kIntegerScales<Format>) {
    ChunkTile<M>(w, x, prefetch, sums, stride);
  } else {
    BlocksTile<M>(w, x, blocks, prefetch, sums, stride);
  }
}

// Chunk c of panel p.
template <class Chunk>
inline const Chunk& ChunkAt(const MatmulTask& task, int64_t p, int64_t c) {
  return reinterpret_cast<const Chunk*>(task.panels + p * task.panel_bytes)[c];
}

// The number of blocks in chunk c: all, except perhaps in the last chunk.
inline int BlocksInChunk(int64_t inputs, int64_t chunk) {
  return static_cast<int>(std::min<int64_t>(kBlocks, inputs / kBlock - chunk * kBlocks));
}

// Chunks of `inputs` that are multiplied panel by panel before the next ones: as many as keep the activations of all
// rows in the L2 cache, in even shares.
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

// Calls multiply(chunk, x, blocks, prefetch, sums) for each chunk of each panel, panels ascending. x is the first row's
// chunk; rows are adjacent. `prefetch` is what to prefetch meanwhile, evenly. The chunk's share is added to
// sums[row][16]. The cache lines of the results are prefetched too: they are one per row and far apart, and would cost
// up to a tenth of the time later.
template <class F, class Multiply>
inline void ForChunks(const MatmulTask& task, const Multiply& multiply) {
  constexpr int64_t kPrefetch = 6144;  // bytes; 4,096 to 8,192 were equally fast on Zen 4
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
        const bool fetches = PrefetchesOneRow<F>() || task.rows > 1;
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

// Weights are unpacked once for all rows, or in registers for each tile of rows: whichever costs less.
template <class F>
void Int8Matmul(const MatmulTask& task) {
  const int64_t tiles = (task.rows + kRowsOfTile<F> - 1) / kRowsOfTile<F>;
  ForChunks<F>(task, [&](const typename F::Chunk& chunk, const ActivationChunk* x, int blocks, const Prefetch& prefetch,
                         float* sums) {
    const auto multiply = [&](const auto& w) {
      ForTiles<kRowsOfTile<F>>(task.rows, [&]<int M>(int64_t row, int64_t tile) {
        MultiplyTile<F, M>(w, x + row, blocks, prefetch.Part(tile, tiles), sums + row * kPanel, kPanel);
      });
    };
    if constexpr (kUnpacksOnce) {
      tiles > 1 ? multiply(UnpackedWeights<Unpacker<F>>(chunk, blocks)) : multiply(Unpacker<F>(chunk));
    } else {
      multiply(Unpacker<F>(chunk));
    }
  });
}

}  // namespace
}  // namespace inferflux::compute::cpu
