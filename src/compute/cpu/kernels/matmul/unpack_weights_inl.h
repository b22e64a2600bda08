// How a product reads 16 outputs by 256 inputs of each packed format, unpacking in registers.
//
// A source has kSubs sub-blocks of 256 / kSubs inputs; Group(block, g) is group g of 8 in a block of 32 inputs.
// Included once an instruction set, after its lanes header.
#pragma once

#include <array>

#include "compute/cpu/packing/packed_panels.h"
#include "formats/quant/blocks.h"

namespace inferflux::compute::cpu {
namespace {

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

// --- one scale a block, float, or one for each of its kParts parts ---

template <class Source>
constexpr int PartsOfBlock() {
  if constexpr (requires { Source::kParts; }) return Source::kParts;
  return 1;
}

// Whether sub-blocks have integer scales, and a chunk one float scale.
template <class Source>
constexpr bool kIntegerScales = requires {
  Source::kSubs;
};

struct PackedQ8_0 {
  static constexpr bool kSigned = true;
  static constexpr int kMost = 128;
  static constexpr bool kMinimums = false;
  const ChunkQ8_0& chunk;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return FromSigned(LoadBytes(chunk.q[8 * block + g])); }
  Floats Scale(int block) const { return LoadFloats(chunk.d[block]); }
};

struct PackedQ4_0 {
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 15;  // of the numbers that Group gives
  static constexpr int kOffset = 8;
  const ChunkQ4_0& chunk;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return NibbleGroup(chunk.q[block], g); }
  Floats Scale(int block) const { return LoadFloats(chunk.d[block]); }
};

struct PackedQ5_0 {
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 31;
  static constexpr int kOffset = 16;
  const ChunkQ5_0& chunk;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return FiveBitGroup(chunk.q[block], g); }
  Floats Scale(int block) const { return LoadFloats(chunk.d[block]); }
};

template <class Chunk>
struct PackedWithMinimum {
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = true;
  const Chunk& chunk;
  explicit PackedWithMinimum(const Chunk& from) : chunk(from) {}
  Floats Scale(int block) const { return LoadFloats(chunk.d[block]); }
  Floats Minimum(int block) const { return LoadFloats(chunk.m[block]); }
};

struct PackedQ4_1 : PackedWithMinimum<ChunkQ4_1> {
  using PackedWithMinimum::PackedWithMinimum;
  static constexpr int kMost = 15;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return NibbleGroup(chunk.q[block], g); }
};

template <int kRun>
struct PackedZeroPoint4 {
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = true;
  static constexpr int kMost = 15;
  const ChunkZeroPoint4<kRun>& chunk;
  explicit PackedZeroPoint4(const ChunkZeroPoint4<kRun>& from) : chunk(from) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return NibbleGroup(chunk.q[block], g); }
  Floats Scale(int block) const { return LoadFloats(chunk.d[block / kRun]); }
  Floats Minimum(int block) const { return Mul(Scale(block), LoadFloats(chunk.lowest[block / kRun])); }
};

struct PackedQ5_1 : PackedWithMinimum<ChunkQ5_1> {
  using PackedWithMinimum::PackedWithMinimum;
  static constexpr int kMost = 31;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return FiveBitGroup(chunk.q[block], g); }
};

template <class Chunk>
struct PackedFp4 {
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 24;
  static constexpr int kOffset = 12;
  static constexpr auto kTable = [] {
    std::array<int8_t, 16> out;
    for (size_t i = 0; i < 16; ++i) out[i] = static_cast<int8_t>(formats::kFp4Doubled[i] + kOffset);
    return out;
  }();
  const Chunk& chunk;
  Bytes table;
  explicit PackedFp4(const Chunk& from) : chunk(from), table(LoadTable(kTable.data())) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return LookUp(table, NibbleGroup(chunk.q[block], g)); }
  Floats Scale(int part) const { return LoadFloats(chunk.d[part]); }
};

struct PackedNvFp4 : PackedFp4<ChunkNvFp4> {
  using PackedFp4::PackedFp4;
  static constexpr int kParts = 2;
};

template <class Chunk>
struct PackedIq4 {
  static constexpr bool kSigned = true;
  static constexpr int kMost = 127;
  static constexpr bool kMinimums = false;
  const Chunk& chunk;
  Bytes table;
  explicit PackedIq4(const Chunk& from) : chunk(from), table(FromSigned(LoadTable(formats::kIq4Values))) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return LookUp(table, NibbleGroup(chunk.q[block], g)); }
  Floats Scale(int block) const {
    if constexpr (requires { chunk.scales; }) {
      return Mul(LoadFloats(chunk.d), LoadFloats(chunk.scales[block]));
    } else {
      return LoadFloats(chunk.d[block]);
    }
  }
};

// --- integer scales a sub-block, one float scale a chunk ---

// The 6-bit scales and minimums of Q4_K and Q5_K as bytes.
struct alignas(64) UnpackedScales {
  uint8_t scales[128];
  uint8_t minimums[128];
  explicit UnpackedScales(const ScalesK& from) {
    const Bytes high = LoadBytes(from.high);
    const Bytes low0 = LoadBytes(from.low[0]);
    const Bytes low1 = LoadBytes(from.low[1]);
    StoreBytes(scales, Or(Bits<0>(low0, 15), Up<4>(Bits<0>(high, 3))));
    StoreBytes(scales + 64, Or(Bits<0>(low1, 15), Up<4>(Bits<2>(high, 3))));
    StoreBytes(minimums, Or(Bits<4>(low0, 15), Up<4>(Bits<4>(high, 3))));
    StoreBytes(minimums + 64, Or(Bits<4>(low1, 15), Up<4>(Bits<6>(high, 3))));
  }
};

template <class Chunk>
struct PackedWithScales {
  static constexpr int kSubs = 8;
  static constexpr bool kMinimums = true;
  static constexpr int kMostScale = 63;
  const Chunk& chunk;
  UnpackedScales open;
  explicit PackedWithScales(const Chunk& from) : chunk(from), open(from.scales) {}
  ScalePairs Scale(int sub) const { return UnsignedScales(open.scales + kPanel * sub); }
  Pairs Minimums(int two) const { return WidenPairs(open.minimums + 2 * kPanel * two); }
  Floats D() const { return LoadFloats(chunk.d); }
  Floats NegativeMinimumsScale() const { return LoadFloats(chunk.negative_dmin); }
};

struct PackedQ4K : PackedWithScales<ChunkQ4K> {
  static constexpr int kMost = 15;
  using PackedWithScales::PackedWithScales;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return NibbleGroup(chunk.q[block], g); }
};

struct PackedQ5K : PackedWithScales<ChunkQ5K> {
  static constexpr int kMost = 31;
  using PackedWithScales::PackedWithScales;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return FiveBitGroup(chunk.q[block], g); }
};

// The 4-bit scales and minimums of Q2_K as bytes.
struct alignas(64) UnpackedHalves {
  uint8_t scales[kSubs16][kPanel];
  uint8_t minimums[kSubs16][kPanel];
  explicit UnpackedHalves(const uint8_t (&both)[kSubs16][kPanel]) {
    for (int sub = 0; sub < kSubs16; sub += 4) {
      const Bytes four = LoadBytes(both[sub]);
      StoreBytes(scales[sub], Bits<0>(four, 15));
      StoreBytes(minimums[sub], Bits<4>(four, 15));
    }
  }
};

struct PackedQ2K {
  static constexpr int kSubs = 16;
  static constexpr bool kMinimums = true;
  static constexpr int kMost = 3;
  static constexpr int kMostScale = 15;
  const ChunkQ2K& chunk;
  UnpackedHalves open;
  explicit PackedQ2K(const ChunkQ2K& from) : chunk(from), open(from.scales) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return TwoBitGroup(chunk.q[block], g); }
  ScalePairs Scale(int sub) const { return UnsignedScales(open.scales[sub]); }
  ScalePairs Minimum(int sub) const { return UnsignedScales(open.minimums[sub]); }
  Floats D() const { return LoadFloats(chunk.d); }
  Floats MinimumsScale() const { return LoadFloats(chunk.dmin); }
};

// Where activations keep the sums of an offset of 32, its numbers get that by a look-up.
constexpr int8_t kThreeBits[16] = {28, 29, 30, 31, 32, 33, 34, 35};

struct PackedQ3K {
  static constexpr int kSubs = 16;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = kSumsHoldOffsets ? 35 : 7;
  static constexpr int kMostScale = 128;
  static constexpr int kOffset = kSumsHoldOffsets ? 32 : 4;
  const ChunkQ3K& chunk;
  Bytes table;
  explicit PackedQ3K(const ChunkQ3K& from) : chunk(from), table(LoadTable(kThreeBits)) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const {
    const auto& from = chunk.blocks[block];
    const Bytes bits = Or(TwoBitGroup(from.q, g), Up<2>(BitsFrom(LoadBytes(from.high), g, 1)));
    if constexpr (kSumsHoldOffsets) return LookUp(table, bits);
    return bits;
  }
  ScalePairs Scale(int sub) const { return SignedScales(chunk.scales[sub]); }
  Floats D() const { return LoadFloats(chunk.d); }
};

struct PackedCodebook {
  static constexpr int kSubs = 16;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 127;
  static constexpr int kMostScale = 128;
  static constexpr int kOffset = ChunkCodebook::kOffset;
  const ChunkCodebook& chunk;
  Bytes table;
  explicit PackedCodebook(const ChunkCodebook& from) : chunk(from), table(LoadTable(from.table)) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return LookUp(table, NibbleGroup(chunk.q[block], g)); }
  ScalePairs Scale(int sub) const { return SignedScales(chunk.scales[sub]); }
  Floats D() const { return LoadFloats(chunk.d); }
};

struct PackedQ6K {
  static constexpr int kSubs = 16;
  static constexpr int kMost = 63;
  static constexpr int kMostScale = 128;
  static constexpr bool kMinimums = false;
  static constexpr int kOffset = 32;
  const ChunkQ6K& chunk;
  explicit PackedQ6K(const ChunkQ6K& from) : chunk(from) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const {
    return Or(NibbleGroup(chunk.blocks[block].q, g), Up<4>(TwoBitGroup(chunk.blocks[block].high, g)));
  }
  ScalePairs Scale(int sub) const { return SignedScales(chunk.scales[sub]); }
  Floats D() const { return LoadFloats(chunk.d); }
};

}  // namespace
}  // namespace inferflux::compute::cpu
