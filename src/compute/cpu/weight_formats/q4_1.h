// Q4_1: value = d * q + m, with four bits q, a scale and a minimum for each block of 32.
#pragma once

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

struct Q4_1 {
  static constexpr const char* kName = "q4_1";
  struct alignas(64) Chunk {
    Fp16 d[kBlocks][kPanel];
    Fp16 m[kBlocks][kPanel];
    Nibbles q[kBlocks];
  };
  static constexpr int64_t kChunkTail = sizeof(Nibbles);
  static constexpr int kFileBlock = formats::kSmallBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kQ4_1, formats::BlockQ4_1>>;

  static void Pack(Chunk& chunk, int lane, int block, const formats::BlockQ4_1& from) {
    CopyNibbles(chunk.q[block], lane, from.qs);
    chunk.d[block][lane] = from.d;
    chunk.m[block][lane] = from.m;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = true;
  static constexpr int kMost = 15;
};

#if defined(INFERFLUX_LANES)
namespace {

template <>
struct Unpacker<Q4_1> : BlockUnpacker<Q4_1> {
  using BlockUnpacker::BlockUnpacker;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return NibbleGroup(chunk.q[block], g); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
