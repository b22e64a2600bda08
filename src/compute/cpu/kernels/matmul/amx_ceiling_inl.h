// What the tile unit can do at best.
#pragma once

#include <cstdint>

#include "compute/cpu/kernels/matmul/amx_tiles.h"

namespace inferflux::compute::cpu {
namespace {

// `multiply` four tiles of sums at a time, all of zeros; how many multiply-adds of rows by columns that were, by depth.
template <class Multiply>
inline double TileRounds(int64_t rounds, const Multiply& multiply) {
  alignas(64) const uint8_t zeros[kTileRows * kTileRowBytes] = {};
  const TileUnit unit(TileShapes(kTileRows, kTileRowBytes));
  ForEach<4>([&]<int kSums>() { ZeroTile<kSums>(); });
  ForEach<4>([&]<int kOperand>() { LoadTile<kActivationTile + kOperand>(zeros, kTileRowBytes); });
  for (int64_t i = 0; i < rounds; i += 4) {
    multiply.template operator()<0, kActivationTile, kWeightTile>();
    multiply.template operator()<1, kActivationTile, kWeightTile + 1>();
    multiply.template operator()<2, kActivationTile + 1, kWeightTile>();
    multiply.template operator()<3, kActivationTile + 1, kWeightTile + 1>();
  }
  return static_cast<double>(rounds) * kTileRows * kTileRows * 2;
}

// Half of what the unit does: the scales of block formats change every 32 inputs, half a tile's depth, or multiply the
// weights, which then take two bytes.
inline double Int8TileRounds(int64_t rounds) {
  const auto multiply = []<int kSums, int kX, int kWeights>() { DotSignedTiles<kSums, kX, kWeights>(); };
  return TileRounds(rounds, multiply) * kTileRowBytes / 2;
}

inline double Bf16TileRounds(int64_t rounds) {
  const auto multiply = []<int kSums, int kX, int kWeights>() { DotBf16Tiles<kSums, kX, kWeights>(); };
  return TileRounds(rounds, multiply) * kTileRowBytes / 2;
}

}  // namespace
}  // namespace inferflux::compute::cpu
