// Q8_0: value = d * q, with signed bytes q and a scale for each block of 32.
#pragma once

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

struct Q8_0 {
  static constexpr const char* kName = "q8_0";
  struct alignas(64) Chunk {
    Fp16 d[kBlocks][kPanel];
    int8_t q[kChunk / kGroup][kGroupBytes];
  };
  static constexpr int64_t kChunkTail = 8 * kGroupBytes;
  static constexpr int kFileBlock = formats::kSmallBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kQ8_0, formats::BlockQ8_0>>;

  static void Pack(Chunk& chunk, int lane, int block, const formats::BlockQ8_0& from) {
    for (int g = 0; g < 8; ++g) PackWord(chunk.q[8 * block + g], lane, Word(from.qs, g));
    chunk.d[block][lane] = from.d;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr bool kSigned = true;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 128;
  static constexpr bool kPrefetchOneRow = false;
};

#if defined(INFERFLUX_LANES)
namespace {

template <>
struct Unpacker<Q8_0> : BlockUnpacker<Q8_0> {
  using BlockUnpacker::BlockUnpacker;
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return FromSigned(LoadBytes(chunk.q[8 * block + g])); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
