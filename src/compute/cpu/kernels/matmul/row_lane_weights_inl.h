// A chunk of weights with whole scales unpacked once for rows in lanes: four inputs of an output lie ready to be
// repeated in all lanes. Included for AVX2, after its lanes header.
#pragma once

#include <cstdint>

#include "compute/cpu/kernels/matmul/integer_scale_tile_inl.h"
#include "compute/cpu/kernels/matmul/unpack_weights_inl.h"
#include "compute/cpu/packing/packed_panels.h"

namespace inferflux::compute::cpu {
namespace {

template <class Source>
struct RowLaneWeights {
  static constexpr int kSubs = Source::kSubs;
  static constexpr int kPairs = kSubs / 2;

  // By group of inputs, or sub-block, or two of these, and by output.
  alignas(64) uint8_t groups[kChunk / kGroup][kGroupBytes];
  alignas(64) int32_t scales[kSubs][kPanel];  // twice an int16
  // ScalePairs of the sums of activations, an int16 for each of two sub-blocks: minimums, or scales where weights have
  // an offset.
  alignas(64) int32_t pairs[kPairs][kPanel];
  alignas(64) float d[kPanel];
  alignas(64) float minimums_scale[kPanel];  // only where there are minimums

  explicit RowLaneWeights(const auto& chunk) {
    const Source packed{chunk};
    for (int block = 0; block < kBlocks; ++block) {
#pragma GCC unroll 8  // so that shifts are constants
      for (int g = 0; g < 8; ++g) StoreBytes(groups[8 * block + g], packed.Group(block, g));
    }
    for (int sub = 0; sub < kSubs; ++sub) StoreBytes(scales[sub], packed.Scale(sub));
    for (int two = 0; two < kPairs; ++two) {
      if constexpr (kSubs == kBlocks) {
        StoreBytes(pairs[two], packed.Minimums(two));
      } else if constexpr (Source::kMinimums) {
        StoreBytes(pairs[two], PairOf(packed.Minimum(2 * two), packed.Minimum(2 * two + 1)));
      } else {
        StoreBytes(pairs[two], PairOf(packed.Scale(2 * two), packed.Scale(2 * two + 1)));
      }
    }
    StoreFloats(d, packed.D());
    if constexpr (Source::kMinimums) StoreFloats(minimums_scale, MinimumsScale(packed));
  }
};

}  // namespace
}  // namespace inferflux::compute::cpu
