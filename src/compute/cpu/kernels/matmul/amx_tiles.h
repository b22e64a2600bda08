// The tile unit of AMX (Intel, Software Developer's Manual, volume 1, chapter 18): eight registers of up to 16 rows of
// 64 bytes. Our matmuls use tiles 0 to 3 for sums, 4 and 5 for rows of activations, 6 and 7 for weights.
//
// Inline assembly, not the compilers' intrinsics: GCC takes a tile's number from the text of the argument, so it cannot
// be a template parameter, and GCC does not declare what memory is read (except 8 of the configuration's 64 bytes).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace inferflux::compute::cpu {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileRowBytes = 64;
constexpr int64_t kTileInts = 256;  // or floats
constexpr int kActivationTile = 4;
constexpr int kWeightTile = 6;

// The operand of ldtilecfg.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  // For `m` rows of activations, multiplied `depth` bytes at a time; `depth` is a multiple of 4.
  TileShapes(int64_t m, int64_t depth) {
    for (int tile = 0; tile < 8; ++tile) {
      row_bytes[tile] = static_cast<uint16_t>(tile / 2 == kActivationTile / 2 ? depth : kTileRowBytes);
      rows[tile] = static_cast<uint8_t>(tile < kWeightTile ? m : depth / 4);
    }
  }
};
static_assert(sizeof(TileShapes) == 64);

// Owns the tiles of this thread. If they are not released, every thread switch saves eight kilobytes.
class TileUnit {
 public:
  explicit TileUnit(const TileShapes& shapes) { asm volatile("ldtilecfg %0" : : "m"(shapes) : "memory"); }
  ~TileUnit() { asm volatile("tilerelease" : : : "memory"); }
  TileUnit(const TileUnit&) = delete;
  TileUnit& operator=(const TileUnit&) = delete;
};

// Rows are `stride` bytes apart.
template <int kTile>
inline void LoadTile(const void* from, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
inline void StoreTile(void* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
inline void ZeroTile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}

// Sums, [row][output], += activations, [row][input], times weights, [group of inputs][output][input of the group].
template <int kSums, int kX, int kWeights>  // signed bytes
inline void DotSignedTiles() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kX), "i"(kWeights));
}
template <int kSums, int kX, int kWeights>  // signed bytes times unsigned weights
inline void DotUnsignedTiles() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kX), "i"(kWeights));
}
template <int kSums, int kX, int kWeights>  // bfloat16
inline void DotBf16Tiles() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kX), "i"(kWeights));
}

// Calls f.operator()<i>() for i from 0 to kCount - 1.
template <int kCount, class F>
inline void ForEach(const F& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (f.template operator()<i>(), ...); }
  (std::make_integer_sequence<int, kCount>());
}

// Rows cut into tiles of the same height, so that one configuration serves all: the last tile may start with rows that
// the one before it has too.
struct RowTiles {
  int64_t all;
  int64_t tiles;
  int64_t height;

  explicit RowTiles(int64_t rows)
      : all(rows), tiles((rows + kTileRows - 1) / kTileRows), height((rows + tiles - 1) / tiles) {}

  int64_t First(int64_t tile) const { return std::min(tile * height, all - height); }
  // The rows from here to End are not in an earlier tile.
  int64_t Begin(int64_t tile) const { return tile * height; }
  int64_t End(int64_t tile) const { return std::min((tile + 1) * height, all); }
};

}  // namespace
}  // namespace inferflux::compute::cpu
