// IQ4_XS: value = d * scale * table[q], of 16 signed bytes, with an integer scale for each block of 32. The scale is
// multiplied by d before it is applied to a sum: to the kernels the format has float scales.
#pragma once

#include "compute/cpu/weight_formats/iq4_nl.h"

namespace inferflux::compute::cpu {

struct Iq4Xs {
  static constexpr const char* kName = "iq4_xs";
  struct alignas(64) Chunk {
    int8_t scales[kBlocks][kPanel];
    Fp16 d[kPanel];
    alignas(64) Nibbles q[kBlocks];
  };
  static constexpr int64_t kChunkTail = 0;
  static constexpr int kFileBlock = formats::kSuperBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kIq4Xs, formats::BlockIq4Xs>>;

  static void Pack(Chunk& chunk, int lane, int, const formats::BlockIq4Xs& from) {
    for (int b = 0; b < kBlocks; ++b) {
      CopyNibbles(chunk.q[b], lane, from.qs + 16 * b);
      const int scale = (from.scales_l[b / 2] >> (b % 2 * 4) & 15) | (from.scales_h >> (2 * b) & 3) << 4;
      chunk.scales[b][lane] = static_cast<int8_t>(scale - 32);
    }
    chunk.d[lane] = from.d;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr bool kSigned = true;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 127;
};

#if defined(INFERFLUX_LANES)
namespace {

template <>
struct Unpacker<Iq4Xs> : Iq4Unpacker<Iq4Xs> {
  using Iq4Unpacker::Iq4Unpacker;
  Floats Scale(int block) const { return Mul(LoadFloats(chunk.d), LoadFloats(chunk.scales[block])); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
