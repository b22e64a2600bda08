// Matmuls of int8 activations with block-quantised weights in tiles, bit-identical to Int8Matmul's vectors. A chunk of
// a panel is unpacked once for all rows, in the layout of tiles. The int32 sums are exact, and the float steps after
// them are the same as for vectors. Included after the lanes header.
//
// Weights multiplied by integer scales take two tile matmuls per 64 inputs, whose sums cover a whole chunk; float
// scales take one per 32 inputs. Both run at half of the unit's rate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/amx_tiles.h"
#include "compute/cpu/kernels/matmul/amx_weights_inl.h"
#include "compute/cpu/kernels/matmul/int8_matmul_inl.h"

namespace inferflux::compute::cpu {
namespace {

// Fewer rows are multiplied in vectors: unpacking for tiles is only worth it for several rows. An estimate, not
// measured.
constexpr int64_t kFewestTiledRows = 8;

// Placed after the sums of every row.
struct TileScratch {
  TileWeights weights[2];  // the current chunk and the next one
  int32_t sums[2 * kBlocks * kTileInts];
};
static_assert(sizeof(TileScratch) <= kTileScratchBytes);

// The next chunk in ForChunks' order, or null, and its number of blocks.
template <class Chunk>
inline std::pair<const Chunk*, int> NextChunk(const MatmulTask& task, const Chunk* chunk) {
  const int64_t chunks = (task.inputs + kChunk - 1) / kChunk;
  const int64_t slab = ChunksAtOnce(chunks, task.rows);
  const int64_t offset = reinterpret_cast<const std::byte*>(chunk) - task.panels;
  const int64_t panel = offset / task.panel_bytes;
  const int64_t c = offset % task.panel_bytes / static_cast<int64_t>(sizeof(Chunk));
  const int64_t first = c / slab * slab;
  const int64_t last = std::min(first + slab, chunks);
  const auto at = [&](int64_t p, int64_t i) {
    return std::pair{&ChunkAt<Chunk>(task, p, i), BlocksInChunk(task.inputs, i)};
  };
  if (c + 1 < last) return at(panel, c + 1);
  if (panel + 1 < task.last_panel) return at(panel + 1, first);
  if (last < chunks) return at(task.first_panel, last);
  return {nullptr, 0};
}

// For float scales per block: out[block][row tile] = the int32 sums of a block. x has the first row of each row tile;
// meanwhile(n) is called when n of the blocks are done.
template <int kRowTiles, class Meanwhile>
inline void MultiplyBlocks(const void* weights, const ActivationChunk* const* x, int blocks, int32_t* out,
                           const Meanwhile& meanwhile) {
  const auto multiply =
      [&]<int kHalf>(int b) {  // alternates between two blocks, so that neither waits for the other's sums
        LoadTile<kWeightTile + kHalf>(static_cast<const uint8_t*>(weights) + 8 * kGroupBytes * b, kGroupBytes);
        ForEach<kRowTiles>([&]<int kRow>() {
          constexpr int kSums = 2 * kHalf + kRow;
          ZeroTile<kSums>();
          LoadTile<kActivationTile + kRow>(x[kRow]->q + kBlock * b, sizeof(ActivationChunk));
          DotSignedTiles<kSums, kActivationTile + kRow, kWeightTile + kHalf>();
          StoreTile<kSums>(out + (2 * b + kRow) * kTileInts, kTileRowBytes);
        });
        meanwhile(b + 1);
      };
  for (int b = 0; b < blocks; b += 2) {
    multiply.template operator()<0>(b);
    if (b + 1 < blocks) multiply.template operator()<1>(b + 1);
  }
}

// sums[m] += M rows times a chunk; dots[block] are 2 * kTileInts apart.
template <int M, class Source>
inline void AddBlocks(const Source& w, const ActivationChunk* x, int blocks, const int32_t* dots, float* sums) {
  Floats total[M];
  for (int m = 0; m < M; ++m) total[m] = LoadFloats(sums + m * kPanel);
  for (int b = 0; b < blocks; ++b) {
    Ints dot[M];
    for (int m = 0; m < M; ++m) dot[m] = LoadBytes(dots + 2 * kTileInts * b + kPanel * m);
    AddBlock<M>(w, x, b, b, dot, total);
  }
  for (int m = 0; m < M; ++m) StoreFloats(sums + m * kPanel, total[m]);
}

constexpr int kChunkSteps = kChunk / kTileRowBytes;

// For weights multiplied by integer scales: out[row tile][low, high] = the sums of a chunk; meanwhile(n) is called when
// n of kChunkSteps are done.
template <int kRowTiles, bool kHigh, class Meanwhile>
inline void MultiplyChunk(const TileWeights& weights, const ActivationChunk* const* x, int32_t* out,
                          const Meanwhile& meanwhile) {
  ForEach<kRowTiles>([&]<int kRow>() {
    ZeroTile<2 * kRow>();
    if constexpr (kHigh) ZeroTile<2 * kRow + 1>();
  });
  for (int step = 0; step < kChunkSteps; ++step) {
    const int64_t at = step * kTileRowBytes;
    LoadTile<kWeightTile>(weights.low + kPanel * at, kGroupBytes);
    if constexpr (kHigh) LoadTile<kWeightTile + 1>(weights.high + kPanel * at, kGroupBytes);
    ForEach<kRowTiles>([&]<int kRow>() {
      LoadTile<kActivationTile + kRow>(x[kRow]->q + at, sizeof(ActivationChunk));
      DotUnsignedTiles<2 * kRow, kActivationTile + kRow, kWeightTile>();
      if constexpr (kHigh) DotSignedTiles<2 * kRow + 1, kActivationTile + kRow, kWeightTile + 1>();
    });
    meanwhile(step + 1);
  }
  ForEach<kRowTiles>([&]<int kRow>() {
    int32_t* to = out + 2 * kRow * kTileInts;
    StoreTile<2 * kRow>(to, kTileRowBytes);
    if constexpr (kHigh) StoreTile<2 * kRow + 1>(to + kTileInts, kTileRowBytes);
  });
}

// sums[m] += M rows times a chunk. `low` has the sums of the low bytes, followed by those of the high bytes.
template <int M, class Source>
inline void AddTotals(const Source& w, const ActivationChunk* x, const int32_t* low, float* sums) {
  Ints total[M];
  for (int m = 0; m < M; ++m) {
    total[m] = LoadBytes(low + kPanel * m);
    if constexpr (!kOneByte<Source>) {
      const Ints high = LoadBytes(low + kTileInts + kPanel * m);
      total[m] = _mm512_add_epi32(total[m], _mm512_slli_epi32(high, 8));
    }
  }
  AddChunk<M>(w, x, total, sums, kPanel);
}

// The work of one task. Unpacks the next chunk while one is multiplied.
template <class F>
class TiledMatmul {
 public:
  using Chunk = typename F::Chunk;
  using Source = Unpacker<F>;

  explicit TiledMatmul(const MatmulTask& task)
      : task_(task),
        rows_(task.rows),
        scratch_(*reinterpret_cast<TileScratch*>(task.scratch + kSumBytes)),
        unit_(TileShapes(rows_.height, kIntegerScales<Source> ? kTileRowBytes : kBlock)) {}

  void Run() {
    ForChunks<F>(task_, [&](const Chunk& chunk, const ActivationChunk* x, int blocks, const Prefetch& prefetch,
                            float* sums) { Multiply(chunk, x, blocks, prefetch, sums); });
  }

 private:
  void Multiply(const Chunk& chunk, const ActivationChunk* x, int blocks, const Prefetch& prefetch, float* sums) {
    if (unpacked_ != &chunk) Unpacking<Source>(chunk, blocks, Prefetch(), scratch_.weights[now_]).Finish();
    const auto [next, next_blocks] = NextChunk(task_, &chunk);
    Unpacking<Source> unpacking(next == nullptr ? chunk : *next, next_blocks, prefetch, scratch_.weights[1 - now_]);
    const Source w(chunk);
    for (int64_t tile = 0; tile < rows_.tiles; tile += 2) {
      WithRows<2>(std::min<int64_t>(2, rows_.tiles - tile), [&]<int kRowTiles>() {
        const int64_t steps = kIntegerScales<Source> ? kChunkSteps : blocks;
        MultiplyTiles<kRowTiles>(w, x, tile, blocks, [&](int64_t done) {
          unpacking.Until(tile / 2 * steps + done, (rows_.tiles + 1) / 2 * steps);
        });
        for (int t = 0; t < kRowTiles; ++t) AddToRows(w, x, tile + t, blocks, SumsOf(t), sums);
      });
    }
    unpacked_ = next;
    now_ = 1 - now_;
  }

  // Where the tile matmuls store the sums of a pass's row tile t.
  int32_t* SumsOf(int t) { return scratch_.sums + (kIntegerScales<Source> ? 2 * t : t) * kTileInts; }

  template <int kRowTiles, class Meanwhile>
  void MultiplyTiles(const Source& w, const ActivationChunk* x, int64_t tile, [[maybe_unused]] int blocks,
                     const Meanwhile& meanwhile) {
    const ActivationChunk* first[kRowTiles];
    for (int t = 0; t < kRowTiles; ++t) first[t] = x + rows_.First(tile + t);
    const TileWeights& weights = scratch_.weights[now_];
    if constexpr (kIntegerScales<Source>) {
      MultiplyChunk<kRowTiles, !kOneByte<Source>>(weights, first, scratch_.sums, meanwhile);
    } else {
      MultiplyBlocks<kRowTiles>(LowTiles(w, weights), first, blocks, scratch_.sums, meanwhile);
    }
  }

  void AddToRows(const Source& w, const ActivationChunk* x, int64_t tile, [[maybe_unused]] int blocks,
                 const int32_t* tile_sums, float* sums) {
    const int64_t begin = rows_.Begin(tile);
    ForTiles<kRowsOfTile<F>>(rows_.End(tile) - begin, [&]<int M>(int64_t from, int64_t) {
      const int64_t row = begin + from;
      const int32_t* row_sums = tile_sums + (row - rows_.First(tile)) * kPanel;
      if constexpr (kIntegerScales<Source>) {
        AddTotals<M>(w, x + row, row_sums, sums + row * kPanel);
      } else {
        AddBlocks<M>(w, x + row, blocks, row_sums, sums + row * kPanel);
      }
    });
  }

  const MatmulTask& task_;
  const RowTiles rows_;
  TileScratch& scratch_;
  const TileUnit unit_;
  const Chunk* unpacked_ = nullptr;  // the chunk in scratch_.weights[now_]
  int now_ = 0;
};

template <class F>
void TiledInt8Matmul(const MatmulTask& task) {
  if (task.rows < kFewestTiledRows) return Int8Matmul<F>(task);
  TiledMatmul<F>(task).Run();
}

}  // namespace
}  // namespace inferflux::compute::cpu
