// Unpacks a chunk in registers: each format's own header specialises Unpacker. Compiled once per instruction set, with
// that set's lanes, and empty otherwise.
//
// Unpacker<Format>(chunk) has
//   Group(block, g)   group g of 8 of a block of 32 inputs: 4 inputs of each of 16 outputs, as bytes
//   Scale(i)          of block i, part i of a block, or sub-block i
//   Minimum(i), Minimums(two)       if kMinimums: of i, or of two sub-blocks of 32 at once
//   D(), MinimumsScale(), NegativeMinimumsScale()    if scales are integers: the chunk's float scales
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

// The low four bits, and a fifth.
[[gnu::always_inline]] inline Bytes FiveBitGroup(const FiveBits& q, int g) {
  return Or(NibbleGroup(q.q, g), Up<4>(BitsFrom(LoadBytes(q.high), g, 1)));
}

// For formats with a float scale per block, and perhaps a minimum.
template <class Format>
struct BlockUnpacker : Format {
  const typename Format::Chunk& chunk;
  explicit BlockUnpacker(const typename Format::Chunk& from) : chunk(from) {}
  Floats Scale(int block) const { return LoadFloats(chunk.d[block]); }
  Floats Minimum(int block) const requires Format::kMinimums { return LoadFloats(chunk.m[block]); }
};

// A chunk unpacked once for the tiles of many rows, if unpacking it for each tile takes longer than storing and reading
// it again.
//
// Scales and minimums are stored as bytes: the compiler would copy a struct of lanes 16 bytes at a time, which stalls a
// load of 32.
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

  // Unpacks the first `blocks` blocks, which are all that the chunk may have.
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
