// Q4_0: value = d * (q - 8), with four bits q and a scale for each block of 32.
#pragma once

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

struct Q4_0 {
  static constexpr const char* kName = "q4_0";
  struct alignas(64) Chunk {
    Fp16 d[kBlocks][kPanel];
    Nibbles q[kBlocks];
  };
  static constexpr int64_t kChunkTail = sizeof(Nibbles);
  static constexpr int kFileBlock = formats::kSmallBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kQ4_0, formats::BlockQ4_0>>;

  static void Pack(Chunk& chunk, int lane, int block, const formats::BlockQ4_0& from) {
    CopyNibbles(chunk.q[block], lane, from.qs);
    chunk.d[block][lane] = from.d;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 15;
  static constexpr int kOffset = 8;
  static constexpr bool kPrefetchOneRow = false;
};

#if defined(INFERFLUX_LANES)
namespace {

template <>
struct Unpacker<Q4_0> : BlockUnpacker<Q4_0> {
  using BlockUnpacker::BlockUnpacker;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return NibbleGroup(chunk.q[block], g); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
