// How kernels unpack a chunk in registers: an Unpacker for each format, specialised in the format's own header.
// Compiled once an instruction set, with the lanes of that set, and empty for everything else.
//
// Unpacker<Format>(chunk) has
//   Group(block, g)   group g of 8 of a block of 32 inputs: 4 inputs of each of 16 outputs, as bytes
//   Scale(i)          of block, part of a block, or sub-block i
//   Minimum(i), Minimums(two)       where kMinimums: of i, or of two sub-blocks of 32 at once
//   D(), MinimumsScale(), NegativeMinimumsScale()    where scales are integers: the chunk's own float scales
#pragma once

#if defined(INFERFLUX_LANES)
#include INFERFLUX_LANES
#include <type_traits>
#include <utility>

#include "compute/cpu/weight_formats/panel.h"

namespace inferflux::compute::cpu {
namespace {

template <class Format>
struct Unpacker;

[[gnu::always_inline]] inline Bytes NibbleGroup(const Nibbles& q, int g) {
  return g < 4 ? Bits<0>(LoadBytes(q[g]), 15) : Bits<4>(LoadBytes(q[g - 4]), 15);
}

// Bits [shift, shift + width) of each byte; shift is a constant once the caller's loop is unrolled.
[[gnu::always_inline]] inline Bytes BitsFrom(Bytes v, int shift, int mask) {
  switch (shift) {
    case 0:
      return Bits<0>(v, mask);
    case 1:
      return Bits<1>(v, mask);
    case 2:
      return Bits<2>(v, mask);
    case 3:
      return Bits<3>(v, mask);
    case 4:
      return Bits<4>(v, mask);
    case 5:
      return Bits<5>(v, mask);
    case 6:
      return Bits<6>(v, mask);
    default:
      return Bits<7>(v, mask);
  }
}

[[gnu::always_inline]] inline Bytes TwoBitGroup(const TwoBits& q, int g) {
  return BitsFrom(LoadBytes(q[g / 4]), 2 * (g % 4), 3);
}

// Four bits from below, and a fifth.
[[gnu::always_inline]] inline Bytes FiveBitGroup(const FiveBits& q, int g) {
  return Or(NibbleGroup(q.q, g), Up<4>(BitsFrom(LoadBytes(q.high), g, 1)));
}

// Of formats with a float scale for each block, and perhaps a minimum.
template <class Format>
struct BlockUnpacker : Format {
  const typename Format::Chunk& chunk;
  explicit BlockUnpacker(const typename Format::Chunk& from) : chunk(from) {}
  Floats Scale(int block) const { return LoadFloats(chunk.d[block]); }
  Floats Minimum(int block) const requires Format::kMinimums { return LoadFloats(chunk.m[block]); }
};

// A chunk unpacked once for the tiles of many rows, where unpacking it again for each tile takes longer than storing it
// and reading it again.
//
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
#endif
