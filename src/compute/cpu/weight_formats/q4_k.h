// Q4_K: value = d * scale * q - dmin * minimum, with four bits q, and a 6-bit scale and minimum for each block of 32.
#pragma once

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"
#include "formats/quant/k_scales.h"

namespace inferflux::compute::cpu {

// The 6-bit scales and minimums of the eight blocks of Q4_K and Q5_K. Scale i = 16 * block + output; minimum i = 32 *
// (block / 2) + 2 * output + block % 2, so that those of two blocks are adjacent.
struct ScalesK {
  uint8_t low[2][64];  // low[i / 64][i % 64]: low nibble: low four bits of scale i; high nibble: those of minimum i
  uint8_t high[64];    // two high bits each, lowest first: scale i, scale 64 + i, minimum i, minimum 64 + i
};

inline void PackScales(ScalesK& out, int lane, const uint8_t packed[12]) {
  const auto put = [&](int i, int value, int shift_low, int shift_high) {
    out.low[i / 64][i % 64] |= static_cast<uint8_t>((value & 15) << shift_low);
    out.high[i % 64] |= static_cast<uint8_t>((value >> 4) << (shift_high + 2 * (i / 64)));
  };
  for (int b = 0; b < kBlocks; ++b) {
    const formats::ScaleMin value = formats::UnpackScaleMin(packed, b);
    put(kPanel * b + lane, value.scale, 0, 0);
    put(2 * kPanel * (b / 2) + 2 * lane + b % 2, value.min, 4, 4);
  }
}

template <class Chunk, class Block>
void PackScalesAndMinimums(Chunk& chunk, int lane, const Block& from) {
  PackScales(chunk.scales, lane, from.scales);
  chunk.d[lane] = from.d;
  chunk.negative_dmin[lane] = {static_cast<uint16_t>(from.dmin.bits ^ 0x8000u)};
}

// The low nibbles of block b of Q4_K and Q5_K: 32 bytes have two blocks of 32, the first in the low nibbles.
template <class Block>
void PackLowNibbles(Nibbles& q, int lane, int b, const Block& from) {
  uint32_t groups[8];
  for (int g = 0; g < 8; ++g) groups[g] = Word(from.qs + 32 * (b / 2), g) >> (b % 2 == 0 ? 0 : 4);
  PackNibbles(q, lane, groups);
}

struct Q4K {
  static constexpr const char* kName = "q4_k";
  struct alignas(64) Chunk {  // value = d * scale * q + negative_dmin * minimum
    ScalesK scales;
    Fp16 d[kPanel];
    Fp16 negative_dmin[kPanel];
    Nibbles q[kBlocks];
  };
  static constexpr int64_t kChunkTail = 0;
  static constexpr int kFileBlock = formats::kSuperBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kQ4_K, formats::BlockQ4_K>>;

  static void Pack(Chunk& chunk, int lane, int, const formats::BlockQ4_K& from) {
    PackScalesAndMinimums(chunk, lane, from);
    for (int b = 0; b < kBlocks; ++b) PackLowNibbles(chunk.q[b], lane, b, from);
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr int kSubs = 8;
  static constexpr bool kMinimums = true;
  static constexpr int kMost = 15;
  static constexpr int kMostScale = 63;
};

#if defined(INFERFLUX_LANES)
namespace {

// The scales and minimums as bytes.
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

// For Q4_K and Q5_K.
template <class Format>
struct UnpackerWithScales : Format {
  const typename Format::Chunk& chunk;
  UnpackedScales unpacked;
  explicit UnpackerWithScales(const typename Format::Chunk& from) : chunk(from), unpacked(from.scales) {}
  ScalePairs Scale(int sub) const { return UnsignedScales(unpacked.scales + kPanel * sub); }
  Pairs Minimums(int two) const { return WidenPairs(unpacked.minimums + 2 * kPanel * two); }
  Floats D() const { return LoadFloats(chunk.d); }
  Floats NegativeMinimumsScale() const { return LoadFloats(chunk.negative_dmin); }
};

template <>
struct Unpacker<Q4K> : UnpackerWithScales<Q4K> {
  using UnpackerWithScales::UnpackerWithScales;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return NibbleGroup(chunk.q[block], g); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
