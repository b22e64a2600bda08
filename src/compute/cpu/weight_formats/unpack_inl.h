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

}  // namespace
}  // namespace inferflux::compute::cpu
#endif
