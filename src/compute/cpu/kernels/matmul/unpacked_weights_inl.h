// A chunk of weights unpacked once for the tiles of many rows, where unpacking it again for each tile takes longer than
// to store it and read it again. Included once an instruction set, after its lanes header.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "compute/cpu/weight_formats/unpack_inl.h"
#include "compute/cpu/weight_formats/weight_formats.h"

namespace inferflux::compute::cpu {
namespace {

// Scales and minimums are kept as bytes: a struct of lanes would be copied 16 bytes at a time, which stalls a load of
// 32.
inline void StoreLanes(void* p, Bytes v) { StoreBytes(p, v); }
inline void StoreLanes(void* p, Floats v) { StoreFloats(static_cast<float*>(p), v); }
template <class T>
inline T LoadLanes(const void* p) {
  if constexpr (std::is_same_v<T, Floats>) {
    return LoadFloats(static_cast<const float*>(p));
  } else {
    return LoadBytes(p);
  }
}

template <class Source>
struct UnpackedWeights : Source {
  using ScaleLanes = decltype(std::declval<const Source&>().Scale(0));
  static constexpr int kScales = [] {
    if constexpr (requires { Source::kSubs; }) return Source::kSubs;
    return kBlocks * PartsOfBlock<Source>();
  }();
  static constexpr bool kPairsOfMinimums = requires(const Source& packed) { packed.Minimums(0); };
  alignas(64) uint8_t groups[kChunk / kGroup][kGroupBytes];
  alignas(64) uint8_t scales[kScales][64];
  alignas(64) uint8_t minimums[kPairsOfMinimums ? kBlocks / 2 : 1][64];

  // Of the first `blocks` blocks, which are all that a chunk may have.
  UnpackedWeights(const auto& chunk, int blocks) : Source(chunk) {
    const Source& packed = *this;
    for (int block = 0; block < blocks; ++block) {
#pragma GCC unroll 8  // so that shifts are constants
      for (int g = 0; g < 8; ++g) StoreBytes(groups[8 * block + g], packed.Group(block, g));
    }
    for (int i = 0; i < kScales; ++i) StoreLanes(scales[i], packed.Scale(i));
    if constexpr (kPairsOfMinimums) {
      for (int two = 0; two < kBlocks / 2; ++two) StoreLanes(minimums[two], packed.Minimums(two));
    }
  }
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return LoadBytes(groups[8 * block + g]); }
  ScaleLanes Scale(int i) const { return LoadLanes<ScaleLanes>(scales[i]); }
  Pairs Minimums(int two) const { return LoadLanes<Pairs>(minimums[two]); }
};

}  // namespace
}  // namespace inferflux::compute::cpu
