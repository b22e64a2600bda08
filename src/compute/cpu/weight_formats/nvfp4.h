// NVFP4: like MXFP4, with a scale for each 16 inputs.
#pragma once

#include "compute/cpu/weight_formats/mxfp4.h"

namespace inferflux::compute::cpu {

struct Nvfp4 {
  static constexpr const char* kName = "nvfp4";
  struct alignas(64) Chunk {
    Bf16 d[kSubs16][kPanel];
    Nibbles q[kBlocks];
  };
  static constexpr int64_t kChunkTail = sizeof(Nibbles);
  static constexpr int kFileBlock = 64;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kNvfp4, formats::BlockNvfp4>>;

  // 64 values; the first eight of each 16 are in the low nibbles, the others in the high ones.
  static void Pack(Chunk& chunk, int lane, int block, const formats::BlockNvfp4& from) {
    for (int half = 0; half < 2; ++half) {
      uint32_t groups[8];
      for (int sub = 0; sub < 2; ++sub) {
        const int s = 2 * half + sub;
        chunk.d[4 * block + s][lane] = ToBf16(formats::HalfOfUe4m3(from.scales[s]));  // exact
        for (int i = 0; i < 4; ++i) groups[4 * sub + i] = Word(from.qs + 8 * s, i % 2) >> (i < 2 ? 0 : 4);
      }
      PackNibbles(chunk.q[2 * block + half], lane, groups);
    }
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr int kParts = 2;
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 24;
  static constexpr int kOffset = 12;
};

#if defined(INFERFLUX_LANES)
namespace {

template <>
struct Unpacker<Nvfp4> : Fp4Unpacker<Nvfp4> {
  using Fp4Unpacker::Fp4Unpacker;
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
