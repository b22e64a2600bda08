// Products of int8 activations with block-quantised weights in tiles: bit for bit what Int8Product makes with vectors.
// A chunk of a panel is unpacked once for all rows, as tiles take it; what follows is exact in int32, and from there on
// the steps are the vectors' own. Included after the lanes header.
//
// Where scales are whole numbers the weights are multiplied with them while they are unpacked. Such a product takes two
// bytes, a signed high and an unsigned low one, each with sums of its own over all of a chunk: two tile products for 64
// inputs. Float scales leave one of 32 inputs. Both are half of what the unit can do.
#pragma once

#include <algorithm>
#include <concepts>

#include "compute/cpu/isa/amx_tiles.h"
#include "compute/cpu/isa/int8_product_inl.h"
#include "compute/cpu/kernels.h"

namespace inferflux::compute::cpu {
namespace {

// Fewer rows are multiplied in vectors: to unpack for tiles takes some of them to pay. An estimate, not measured.
constexpr int64_t kFewestTiledRows = 8;

// Behind the sums of every row.
struct alignas(64) TileScratch {
  uint8_t low[kChunk * kPanel];  // signed where there is no high byte
  int8_t high[kChunk * kPanel];
  int32_t sums[2 * kBlocks * kTileInts];
};
static_assert(sizeof(TileScratch) <= kTileScratchBytes);

inline TileScratch& ScratchOf(const ProductTask& task) {
  return *reinterpret_cast<TileScratch*>(task.scratch + kSumBytes);
}

template <class Source>
constexpr int OffsetOfWeights() {
  if constexpr (requires { Source::kOffset; }) return Source::kOffset;
  return 0;
}

template <class Source>
constexpr bool kOneByte = Source::kMinimums&& Source::kMost* Source::kMostScale <= UINT8_MAX;

// --- a float scale for each block ---

inline void UnpackBlocks(const PackedQ8_0&, int, Ahead ahead, TileScratch&) { ahead.Fetch(sizeof(ChunkQ8_0)); }

template <class Source>
inline void UnpackBlocks(const Source& w, int blocks, Ahead ahead, TileScratch& out) {
  const int64_t step = ahead.StepOf(kBlocks);
  const Bytes offset = _mm512_set1_epi8(static_cast<char>(OffsetOfWeights<Source>()));
  for (int b = 0; b < blocks; ++b) {
    ahead.Fetch(step);
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
      Bytes weights = w.Group(b, g);
      if constexpr (Source::kSigned) {
        weights = FromSigned(weights);  // back
      } else {
        weights = _mm512_sub_epi8(weights, offset);
      }
      StoreBytes(out.low + kGroupBytes * (8 * b + g), weights);
    }
  }
}

inline const void* TilesOf(const PackedQ8_0& w, const TileScratch&) { return w.chunk.q; }
template <class Source>
inline const void* TilesOf(const Source&, const TileScratch& scratch) {
  return scratch.low;
}

// out[block][row tile] = sums of products of each block; x has the first row of each row tile.
template <int kRowTiles>
inline void MultiplyBlocks(const void* weights, const ActivationChunk* const* x, int blocks, int32_t* out) {
  const auto multiply = [&]<int kHalf>(int b) {  // two blocks take turns, so that neither waits for the other's sums
    LoadTile<kWeightTile + kHalf>(static_cast<const uint8_t*>(weights) + 8 * kGroupBytes * b, kGroupBytes);
    ForEach<kRowTiles>([&]<int kRow>() {
      constexpr int kSums = 2 * kHalf + kRow;
      ZeroTile<kSums>();
      LoadTile<kActivationTile + kRow>(x[kRow]->q + kBlock * b, sizeof(ActivationChunk));
      DotSignedTiles<kSums, kActivationTile + kRow, kWeightTile + kHalf>();
      StoreTile<kSums>(out + (2 * b + kRow) * kTileInts, kTileRowBytes);
    });
  };
  for (int b = 0; b < blocks; b += 2) {
    multiply.template operator()<0>(b);
    if (b + 1 < blocks) multiply.template operator()<1>(b + 1);
  }
}

// sums[m] += M rows times a chunk; dots[block] lie 2 * kTileInts apart.
template <int M, class Source>
inline void AddBlocks(const Source& w, const ActivationChunk* x, int blocks, const int32_t* dots, float* sums) {
  Floats total[M];
  for (int m = 0; m < M; ++m) total[m] = LoadFloats(sums + m * kPanel);
  for (int b = 0; b < blocks; ++b) {
    Ints dot[M];
    for (int m = 0; m < M; ++m) dot[m] = LoadBytes(dots + 2 * kTileInts * b + kPanel * m);
    AddBlock<M>(w, x, b, dot, total);
  }
  for (int m = 0; m < M; ++m) StoreFloats(sums + m * kPanel, total[m]);
}

// --- whole scales ---

// 16-bit products of two of a group's inputs with an output's scale: `weights` less the offset.
template <class Source>
inline Pairs Scaled(Pairs weights, Pairs scale) {
  constexpr int kOffset = OffsetOfWeights<Source>();
  if constexpr (kOffset != 0) weights = _mm512_sub_epi16(weights, _mm512_set1_epi16(kOffset));
  return _mm512_mullo_epi16(weights, scale);
}

// Scales are at most 8 bits and weights 6, or 7 with a sign: their product is an int16.
template <class Source>
inline void UnpackChunk(const Source& w, Ahead ahead, TileScratch& out) {
  constexpr int kGroups = kChunk / kGroup / Source::kSubs;
  const Bytes low_bytes = _mm512_set1_epi16(0x00ff);
  const int64_t step = ahead.StepOf(Source::kSubs);
  for (int sub = 0; sub < Source::kSubs; ++sub) {
    ahead.Fetch(step);
    const Pairs scale = PairOf(w.Scale(sub), w.Scale(sub));
#pragma GCC unroll 8
    for (int i = 0; i < kGroups; ++i) {
      const int group = kGroups * sub + i;
      const Bytes weights = w.Group(group / 8, group % 8);
      const Pairs even = Scaled<Source>(_mm512_and_si512(weights, low_bytes), scale);
      const Pairs odd = Scaled<Source>(_mm512_srli_epi16(weights, 8), scale);
      const Bytes low = _mm512_or_si512(_mm512_and_si512(even, low_bytes), _mm512_slli_epi16(odd, 8));
      StoreBytes(out.low + kGroupBytes * group, low);
      if constexpr (!kOneByte<Source>) {
        const Bytes high = _mm512_or_si512(_mm512_srli_epi16(even, 8), _mm512_andnot_si512(low_bytes, odd));
        StoreBytes(out.high + kGroupBytes * group, high);
      }
    }
  }
}

// scratch.sums[row tile][low, high] = sums of products over a chunk; x has the first row of each row tile.
template <int kRowTiles, bool kHigh>
inline void MultiplyChunk(const ActivationChunk* const* x, TileScratch& scratch) {
  ForEach<kRowTiles>([&]<int kRow>() {
    ZeroTile<2 * kRow>();
    if constexpr (kHigh) ZeroTile<2 * kRow + 1>();
  });
  for (int64_t at = 0; at < kChunk; at += kTileRowBytes) {
    LoadTile<kWeightTile>(scratch.low + kPanel * at, kGroupBytes);
    if constexpr (kHigh) LoadTile<kWeightTile + 1>(scratch.high + kPanel * at, kGroupBytes);
    ForEach<kRowTiles>([&]<int kRow>() {
      LoadTile<kActivationTile + kRow>(x[kRow]->q + at, sizeof(ActivationChunk));
      DotUnsignedTiles<2 * kRow, kActivationTile + kRow, kWeightTile>();
      if constexpr (kHigh) DotSignedTiles<2 * kRow + 1, kActivationTile + kRow, kWeightTile + 1>();
    });
  }
  ForEach<kRowTiles>([&]<int kRow>() {
    int32_t* to = scratch.sums + 2 * kRow * kTileInts;
    StoreTile<2 * kRow>(to, kTileRowBytes);
    if constexpr (kHigh) StoreTile<2 * kRow + 1>(to + kTileInts, kTileRowBytes);
  });
}

// sums[m] += M rows times a chunk, of which `low` has the sums of the low bytes; those of the high ones follow.
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

// --- both ---

template <class F>
void TiledInt8Product(const ProductTask& task) {
  if (task.rows < kFewestTiledRows) return Int8Product<F>(task);
  using Source = typename F::Source;
  constexpr bool kWholeScales = requires { Source::kSubs; };
  const RowTiles rows(task.rows);
  TileScratch& scratch = ScratchOf(task);
  const TileUnit unit(TileShapes(rows.height, kWholeScales ? kTileRowBytes : kBlock));
  ForChunks<F>(
      task, [&](const typename F::Chunk& chunk, const ActivationChunk* x, int blocks, const Ahead& ahead, float* sums) {
        const Source w{chunk};
        if constexpr (kWholeScales) {
          UnpackChunk(w, ahead, scratch);
        } else {
          UnpackBlocks(w, blocks, ahead, scratch);
        }
        for (int64_t tile = 0; tile < rows.tiles; tile += 2) {
          WithRows<2>(std::min<int64_t>(2, rows.tiles - tile), [&]<int kRowTiles>() {
            const ActivationChunk* first[kRowTiles];
            for (int t = 0; t < kRowTiles; ++t) first[t] = x + rows.First(tile + t);
            if constexpr (kWholeScales) {
              MultiplyChunk<kRowTiles, !kOneByte<Source>>(first, scratch);
            } else {
              MultiplyBlocks<kRowTiles>(TilesOf(w, scratch), first, blocks, scratch.sums);
            }
            for (int t = 0; t < kRowTiles; ++t) {
              const int32_t* dots = scratch.sums + (kWholeScales ? 2 * t : t) * kTileInts;
              const int64_t begin = rows.Begin(tile + t);
              ForTiles<F::kRows>(rows.End(tile + t) - begin, [&]<int M>(int64_t from, int64_t) {
                const int64_t row = begin + from;
                const int32_t* of_row = dots + (row - rows.First(tile + t)) * kPanel;
                if constexpr (kWholeScales) {
                  AddTotals<M>(w, x + row, of_row, sums + row * kPanel);
                } else {
                  AddBlocks<M>(w, x + row, blocks, of_row, sums + row * kPanel);
                }
              });
            }
          });
        }
      });
}

}  // namespace
}  // namespace inferflux::compute::cpu
