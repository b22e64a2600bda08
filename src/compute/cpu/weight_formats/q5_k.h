// Q5_K: like Q4_K, with five bits q.
#pragma once

#include "compute/cpu/weight_formats/q4_k.h"

namespace inferflux::compute::cpu {

struct Q5K {
  static constexpr const char* kName = "q5_k";
  struct alignas(64) Chunk {  // value = d * scale * q + negative_dmin * minimum
    ScalesK scales;
    Fp16 d[kPanel];
    Fp16 negative_dmin[kPanel];
    FiveBits q[kBlocks];
  };
  static constexpr int64_t kChunkTail = 0;
  static constexpr int kFileBlock = formats::kSuperBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kQ5_K, formats::BlockQ5_K>>;

  static void Pack(Chunk& chunk, int lane, int, const formats::BlockQ5_K& from) {
    PackScalesAndMinimums(chunk, lane, from);
    for (int b = 0; b < kBlocks; ++b) {
      PackLowNibbles(chunk.q[b].q, lane, b, from);
      PackWord(chunk.q[b].high, lane, BitOfGroups(from.qh, b));
    }
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr int kSubs = 8;
  static constexpr bool kMinimums = true;
  static constexpr int kMost = 31;
  static constexpr int kMostScale = 63;
};

#if defined(INFERFLUX_LANES)
namespace {

template <>
struct Unpacker<Q5K> : UnpackerWithScales<Q5K> {
  using UnpackerWithScales::UnpackerWithScales;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return FiveBitGroup(chunk.q[block], g); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
