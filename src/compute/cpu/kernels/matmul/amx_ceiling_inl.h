// The peak rate of the tile unit.
#pragma once

#include <cstdint>

#include "compute/cpu/kernels/matmul/amx_tiles.h"

namespace inferflux::compute::cpu {
namespace {

// Runs `multiply` on four tiles of sums at a time, all zeros; returns the number of multiply-adds: rows by columns by
// depth.
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

// Half of the unit's rate: block formats change scales every 32 inputs, half a tile's depth, or multiply the weights by
// them, which then take two bytes.
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
