// IQ1, IQ2 and IQ3: value = d * scale * (table[q] - 64), with an integer scale for each 16 inputs. Their codebooks have
// at most 16 different numbers, which each chunk stores in its own table; q is an index into it.
#pragma once

#include "compute/cpu/weight_formats/integer_scales.h"
#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

struct Codebook {
  static constexpr const char* kName = "codebook";
  static constexpr int kOffset = 64;
  static constexpr int kNumbers = 16;
  struct alignas(64) Chunk {
    int8_t scales[kSubs16][kPanel];
    alignas(64) float d[kPanel];
    int8_t table[kNumbers];  // from 1 to 127
    alignas(64) Nibbles q[kBlocks];
  };
  static constexpr int64_t kChunkTail = 0;
  static constexpr int kFileBlock = formats::kSuperBlock;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kIq1S, formats::BlockIq1S>,
                                   FileBlock<formats::TensorType::kIq1M, formats::BlockIq1M>,
                                   FileBlock<formats::TensorType::kIq2Xxs, formats::BlockIq2Xxs>,
                                   FileBlock<formats::TensorType::kIq2Xs, formats::BlockIq2Xs>,
                                   FileBlock<formats::TensorType::kIq2S, formats::BlockIq2S>,
                                   FileBlock<formats::TensorType::kIq3Xxs, formats::BlockIq3Xxs>,
                                   FileBlock<formats::TensorType::kIq3S, formats::BlockIq3S>>;

  // A number of magnitude m[i] is entry 2i of the table if negative, 2i + 1 if positive. 0 does not occur.
  template <class Block>
  static void Pack(Chunk& chunk, int lane, int, const Block& from) {
    const IntegerScales scales = IntegerScalesOf(from);
    int numbers[kChunk];
    DecodeNumbers(from, scales, numbers);
    uint8_t index_of[64] = {};  // by magnitude
    for (size_t i = 0; i < scales.magnitudes.size(); ++i) {
      const int8_t magnitude = scales.magnitudes[i];
      index_of[magnitude] = static_cast<uint8_t>(2 * i);
      chunk.table[2 * i] = static_cast<int8_t>(kOffset - magnitude);
      chunk.table[2 * i + 1] = static_cast<int8_t>(kOffset + magnitude);
    }
    for (int b = 0; b < kBlocks; ++b) {
      uint32_t groups[8] = {};
      for (int i = 0; i < kBlock; ++i) {
        const int n = numbers[kBlock * b + i];
        groups[i / kGroup] |= static_cast<uint32_t>(index_of[std::abs(n)] + (n > 0 ? 1 : 0)) << (8 * (i % kGroup));
      }
      PackNibbles(chunk.q[b], lane, groups);
    }
    for (int s = 0; s < kSubs16; ++s) chunk.scales[s][lane] = scales.scales[s];
    chunk.d[lane] = scales.d;
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr int kSubs = 16;
  static constexpr bool kMinimums = false;
  static constexpr int kMost = 127;
  static constexpr int kMostScale = 128;
};

#if defined(INFERFLUX_LANES)
namespace {

template <>
struct Unpacker<Codebook> : Codebook {
  const Chunk& chunk;
  Bytes table;
  explicit Unpacker(const Chunk& from) : chunk(from), table(LoadTable(from.table)) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return LookUp(table, NibbleGroup(chunk.q[block], g)); }
  ScalePairs Scale(int sub) const { return SignedScales(chunk.scales[sub]); }
  Floats D() const { return LoadFloats(chunk.d); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
