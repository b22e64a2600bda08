// Q2_K: value = d * scale * q - dmin * minimum, with two bits q, and a 4-bit scale and minimum for each 16 inputs. The
// ternary types TQ1_0 and TQ2_0 use it too.
#pragma once

#include "compute/cpu/weight_formats/integer_scales.h"
#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

struct Q2K {
  static constexpr const char* kName = "q2_k";
  struct alignas(64) Chunk {
    uint8_t scales[kSubs16][kPanel];  // low four bits; the minimums are in the high four
    Fp16 d[kPanel];
    Fp16 dmin[kPanel];
    TwoBits q[kBlocks];
  };
  static constexpr int64_t kChunkTail = 0;
  static constexpr int kFileBlock = formats::kSuperBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kQ2_K, formats::BlockQ2_K>,
                                   FileBlock<formats::TensorType::kTq1_0, formats::BlockTq1_0>,
                                   FileBlock<formats::TensorType::kTq2_0, formats::BlockTq2_0>>;

  static void Pack(Chunk& chunk, int lane, int, const formats::BlockQ2_K& from) {
    for (int b = 0; b < kBlocks; ++b) {
      uint32_t groups[8];
      LowTwoBits(from, b, groups);
      PackTwoBits(chunk.q[b], lane, groups);
    }
    for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = from.scales[s];
    chunk.d[lane] = from.d;
    chunk.dmin[lane] = from.dmin;
  }

  // Ternary numbers, -1 to 1: each is a value of 0 to 2 minus a minimum of 1.
  template <class TernaryBlock>
  static void Pack(Chunk& chunk, int lane, int, const TernaryBlock& from) {
    int numbers[kChunk];
    DecodeNumbers(from, IntegerScalesOf(from), numbers);
    for (int b = 0; b < kBlocks; ++b) {
      uint32_t groups[8] = {};
      for (int i = 0; i < kBlock; ++i) {
        groups[i / kGroup] |= static_cast<uint32_t>(numbers[kBlock * b + i] + 1) << (8 * (i % kGroup));
      }
      PackTwoBits(chunk.q[b], lane, groups);
    }
    for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = 0x11;
    chunk.d[lane] = chunk.dmin[lane] = from.d;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr int kSubs = 16;
  static constexpr bool kMinimums = true;
  static constexpr int kMost = 3;
  static constexpr int kMostScale = 15;
};

#if defined(INFERFLUX_LANES)
namespace {

// The 4-bit scales and minimums as bytes.
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

template <>
struct Unpacker<Q2K> : Q2K {
  const Chunk& chunk;
  UnpackedHalves unpacked;
  explicit Unpacker(const Chunk& from) : chunk(from), unpacked(from.scales) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return TwoBitGroup(chunk.q[block], g); }
  ScalePairs Scale(int sub) const { return UnsignedScales(unpacked.scales[sub]); }
  ScalePairs Minimum(int sub) const { return UnsignedScales(unpacked.minimums[sub]); }
  Floats D() const { return LoadFloats(chunk.d); }
  Floats MinimumsScale() const { return LoadFloats(chunk.dmin); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
