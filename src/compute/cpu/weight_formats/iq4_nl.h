// IQ4_NL: value = d * table[q], of 16 signed bytes, with a scale for each block of 32.
#pragma once

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

struct Iq4Nl {
  static constexpr const char* kName = "iq4_nl";
  struct alignas(64) Chunk {
    Fp16 d[kBlocks][kPanel];
    Nibbles q[kBlocks];
  };
  static constexpr int64_t kChunkTail = sizeof(Nibbles);
  static constexpr int kFileBlock = formats::kSmallBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kIq4Nl, formats::BlockIq4Nl>>;

  static void Pack(Chunk& chunk, int lane, int block, const formats::BlockIq4Nl& from) {
    CopyNibbles(chunk.q[block], lane, from.qs);
    chunk.d[block][lane] = from.d;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr bool kSigned = true;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 127;
};

#if defined(INFERFLUX_LANES)
namespace {

// For IQ4_NL and IQ4_XS.
template <class Format>
struct Iq4Unpacker : Format {
  const typename Format::Chunk& chunk;
  Bytes table;
  explicit Iq4Unpacker(const typename Format::Chunk& from)
      : chunk(from), table(FromSigned(LoadTable(formats::kIq4Values))) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return LookUp(table, NibbleGroup(chunk.q[block], g)); }
};

template <>
struct Unpacker<Iq4Nl> : Iq4Unpacker<Iq4Nl> {
  using Iq4Unpacker::Iq4Unpacker;
  Floats Scale(int block) const { return LoadFloats(chunk.d[block]); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
