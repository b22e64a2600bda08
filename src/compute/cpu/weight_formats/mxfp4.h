// MXFP4: value = d * (table[q] - 12), of 16 doubled four-bit floats, with a scale for each block of 32.
#pragma once

#include <array>

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"
#include "formats/quant/small_floats.h"

namespace inferflux::compute::cpu {

struct Mxfp4 {
  static constexpr const char* kName = "fp4";
  struct alignas(64) Chunk {
    Bf16 d[kBlocks][kPanel];  // powers of two, with a wider range than Fp16's
    Nibbles q[kBlocks];
  };
  static constexpr int64_t kChunkTail = sizeof(Nibbles);
  static constexpr int kFileBlock = formats::kSmallBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kMxfp4, formats::BlockMxfp4>>;

  static void Pack(Chunk& chunk, int lane, int block, const formats::BlockMxfp4& from) {
    CopyNibbles(chunk.q[block], lane, from.qs);
    chunk.d[block][lane] = ToBf16(formats::HalfOfE8m0(from.e));  // exact
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 24;
  static constexpr int kOffset = 12;
};

#if defined(INFERFLUX_LANES)
namespace {

// For MXFP4 and NVFP4.
template <class Format>
struct Fp4Unpacker : BlockUnpacker<Format> {
  static constexpr auto kTable = [] {
    std::array<int8_t, 16> out;
    for (size_t i = 0; i < 16; ++i) out[i] = static_cast<int8_t>(formats::kFp4Doubled[i] + Format::kOffset);
    return out;
  }();
  Bytes table;
  explicit Fp4Unpacker(const typename Format::Chunk& from)
      : BlockUnpacker<Format>(from), table(LoadTable(kTable.data())) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const {
    return LookUp(table, NibbleGroup(this->chunk.q[block], g));
  }
};

template <>
struct Unpacker<Mxfp4> : Fp4Unpacker<Mxfp4> {
  using Fp4Unpacker::Fp4Unpacker;
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
