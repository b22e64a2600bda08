// Q5_0: value = d * (q - 16), with five bits q and a scale for each block of 32.
#pragma once

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

struct Q5_0 {
  static constexpr const char* kName = "q5_0";
  struct alignas(64) Chunk {
    Fp16 d[kBlocks][kPanel];
    FiveBits q[kBlocks];
  };
  static constexpr int64_t kChunkTail = sizeof(FiveBits);
  static constexpr int kFileBlock = formats::kSmallBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kQ5_0, formats::BlockQ5_0>>;

  static void Pack(Chunk& chunk, int lane, int block, const formats::BlockQ5_0& from) {
    PackFiveBits(chunk.q[block], lane, from);
    chunk.d[block][lane] = from.d;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 31;
  static constexpr int kOffset = 16;
};

#if defined(INFERFLUX_LANES)
namespace {

template <>
struct Unpacker<Q5_0> : BlockUnpacker<Q5_0> {
  using BlockUnpacker::BlockUnpacker;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return FiveBitGroup(chunk.q[block], g); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
