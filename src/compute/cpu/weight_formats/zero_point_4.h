// 4-bit with zero point: Q8_0 whose numbers are at most 15 above the lowest of kRun blocks, which share a scale. GPTQ's
// and AWQ's groups come as Q8_0, because GGUF has no type for them, and use half of its bits.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "compute/cpu/weight_formats/panel.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {

// Blocks that share a scale and a zero point: 1, or kZeroPoint4Run for a group of 128 inputs.
inline constexpr int kZeroPoint4Run = 4;

using Q8_0Blocks = std::span<const formats::BlockQ8_0>;

struct ByteRange {
  int lowest = std::numeric_limits<int>::max(), highest = std::numeric_limits<int>::min();
};
inline ByteRange RangeOf(Q8_0Blocks blocks) {
  ByteRange out;
  for (const formats::BlockQ8_0& block : blocks) {
    int8_t lowest = block.qs[0], highest = block.qs[0];
    for (const int8_t q : block.qs) {
      lowest = std::min(lowest, q);
      highest = std::max(highest, q);
    }
    out.lowest = std::min<int>(out.lowest, lowest);
    out.highest = std::max<int>(out.highest, highest);
  }
  return out;
}

// The `run` blocks from `block` on, or as many as the row has left.
inline Q8_0Blocks RunAt(Q8_0Blocks row, int64_t block, int run) {
  const auto first = static_cast<size_t>(block);
  return row.subspan(first, std::min(static_cast<size_t>(run), row.size() - first));
}

template <int kRun>
struct ZeroPoint4 {
  static constexpr const char* kName = "q8_0 in 4 bits";
  struct alignas(64) Chunk {  // value = d * (q + lowest)
    Fp16 d[kBlocks / kRun][kPanel];
    int8_t lowest[kBlocks / kRun][kPanel];
    alignas(64) Nibbles q[kBlocks];
  };
  static constexpr int64_t kChunkTail = sizeof(Nibbles);
  using FileBlocks = FileBlockList<>;  // no type always fits: each matrix is checked at load (zero_points.h)

  // Packs a row of Q8_0 whose runs fit.
  static void PackRow(Chunk* chunks, int lane, Q8_0Blocks row) {
    for (int64_t first = 0; first < std::ssize(row); first += kRun) {
      const Q8_0Blocks blocks = RunAt(row, first, kRun);
      Chunk& chunk = chunks[first / kBlocks];
      const int64_t begin = first % kBlocks;
      const int lowest = RangeOf(blocks).lowest;
      chunk.d[begin / kRun][lane] = blocks[0].d;
      chunk.lowest[begin / kRun][lane] = static_cast<int8_t>(lowest);
      for (int64_t b = 0; b < std::ssize(blocks); ++b) {
        uint8_t above[kBlock];
        for (int i = 0; i < kBlock; ++i) above[i] = static_cast<uint8_t>(blocks[static_cast<size_t>(b)].qs[i] - lowest);
        uint32_t groups[8];
        std::memcpy(groups, above, sizeof(above));
        PackNibbles(chunk.q[begin + b], lane, groups);
      }
    }
  }

  static constexpr bool kInt8Matmul = true;
  static constexpr bool kSigned = false;
  static constexpr bool kMinimums = true;
  static constexpr int kMost = 15;
};

#if defined(INFERFLUX_LANES)
namespace {

template <int kRun>
struct Unpacker<ZeroPoint4<kRun>> : ZeroPoint4<kRun> {
  using Chunk = typename ZeroPoint4<kRun>::Chunk;
  const Chunk& chunk;
  explicit Unpacker(const Chunk& from) : chunk(from) {}
  [[gnu::always_inline]] Bytes Group(int block, int g) const { return NibbleGroup(chunk.q[block], g); }
  Floats Scale(int block) const { return LoadFloats(chunk.d[block / kRun]); }
  Floats Minimum(int block) const { return Mul(Scale(block), LoadFloats(chunk.lowest[block / kRun])); }
};

}  // namespace
#endif

}  // namespace inferflux::compute::cpu
