// Q3_K: value = d * scale * (q - 4), with three bits q and a 6-bit scale for each 16 inputs.
#pragma once

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

struct Q3K {
  static constexpr const char* kName = "q3_k";
  struct alignas(64) Chunk {
    int8_t scales[kSubs16][kPanel];
    alignas(64) Fp16 d[kPanel];
    struct alignas(64) {
      uint8_t high[kGroupBytes];  // bit g: the third bit of group g
      TwoBits q;
    } blocks[kBlocks];
  };
  static constexpr int64_t kChunkTail = 0;
  static constexpr int kFileBlock = formats::kSuperBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kQ3_K, formats::BlockQ3_K>>;

  // The third bit is in hmask.
  static void Pack(Chunk& chunk, int lane, int, const formats::BlockQ3_K& from) {
    for (int b = 0; b < kBlocks; ++b) {
      uint32_t groups[8];
      LowTwoBits(from, b, groups);
      PackTwoBits(chunk.blocks[b].q, lane, groups);
      PackWord(chunk.blocks[b].high, lane, BitOfGroups(from.hmask, b));
    }
    for (int s = 0; s < kSubs16; ++s) {
      const int low = from.scales[s % 8] >> (s / 8 * 4) & 15;
      const int high = from.scales[8 + s % 4] >> (s / 4 * 2) & 3;
      chunk.scales[s][lane] = static_cast<int8_t>((low | high << 4) - 32);
    }
    chunk.d[lane] = from.d;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr int kSubs = 16;
  static constexpr bool kMinimums = false;
  static constexpr int kMostScale = 128;
};

#if defined(INFERFLUX_LANES)
namespace {

// If activations store the sums for an offset of 32, a look-up adds it to the numbers.
constexpr int8_t kThreeBits[16] = {28, 29, 30, 31, 32, 33, 34, 35};

template <>
struct Unpacker<Q3K> : Q3K {
  static constexpr int kMost = kSumsHoldOffsets ? 35 : 7;
  static constexpr int kOffset = kSumsHoldOffsets ? 32 : 4;
  const Chunk& chunk;
  Bytes table;
  explicit Unpacker(const Chunk& from) : chunk(from), table(LoadTable(kThreeBits)) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const {
    const auto& from = chunk.blocks[block];
    const Bytes bits = Or(TwoBitGroup(from.q, g), Up<2>(BitsFrom(LoadBytes(from.high), g, 1)));
    if constexpr (kSumsHoldOffsets) return LookUp(table, bits);
    return bits;
  }
  ScalePairs Scale(int sub) const { return SignedScales(chunk.scales[sub]); }
  Floats D() const { return LoadFloats(chunk.d); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
