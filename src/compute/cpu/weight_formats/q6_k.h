// Q6_K: value = d * scale * (q - 32), with six bits q and an 8-bit scale for each 16 inputs.
#pragma once

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

struct Q6K {
  static constexpr const char* kName = "q6_k";
  struct alignas(64) Chunk {
    int8_t scales[kSubs16][kPanel];
    alignas(64) Fp16 d[kPanel];
    struct alignas(64) {
      TwoBits high;  // bits 5 and 6
      Nibbles q;
    } blocks[kBlocks];
  };
  static constexpr int64_t kChunkTail = 0;
  static constexpr int kFileBlock = formats::kSuperBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kQ6_K, formats::BlockQ6_K>>;

  // Each half of 128: four runs of 32, in the nibbles ql[0..31] low, ql[32..63] low, ql[0..31] high, ql[32..63] high,
  // with their two high bits in qh[0..31], lowest first.
  static void Pack(Chunk& chunk, int lane, int, const formats::BlockQ6_K& from) {
    for (int b = 0; b < kBlocks; ++b) {
      const int half = b / 4;
      const int run = b % 4;
      uint32_t groups[8];
      for (int g = 0; g < 8; ++g) groups[g] = Word(from.ql + 64 * half + 32 * (run % 2), g) >> (run < 2 ? 0 : 4);
      PackNibbles(chunk.blocks[b].q, lane, groups);
      for (int g = 0; g < 8; ++g) groups[g] = Word(from.qh + 32 * half, g) >> (2 * run);
      PackTwoBits(chunk.blocks[b].high, lane, groups);
    }
    for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = from.scales[s];
    chunk.d[lane] = from.d;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr int kSubs = 16;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 63;
  static constexpr int kMostScale = 128;
  static constexpr int kOffset = 32;
};

#if defined(INFERFLUX_LANES)
namespace {

template <>
struct Unpacker<Q6K> : Q6K {
  const Chunk& chunk;
  explicit Unpacker(const Chunk& from) : chunk(from) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const {
    return Or(NibbleGroup(chunk.blocks[block].q, g), Up<4>(TwoBitGroup(chunk.blocks[block].high, g)));
  }
  ScalePairs Scale(int sub) const { return SignedScales(chunk.scales[sub]); }
  Floats D() const { return LoadFloats(chunk.d); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
