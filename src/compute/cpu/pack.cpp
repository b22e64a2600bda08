#include <algorithm>
#include <cstring>
#include <vector>

#include "compute/cpu/packed_matrix.h"
#include "compute/host/check_matrix.h"
#include "formats/quant/blocks.h"
#include "formats/quant/dequantize.h"
#include "formats/quant/k_scales.h"

namespace inferflux::compute::cpu {
namespace {

using namespace formats;  // NOLINT: the block structs

// Four neighbouring inputs of one output: a lane of a group.
uint32_t Word(const void* bytes, int index) {
  uint32_t out;
  std::memcpy(&out, static_cast<const char*>(bytes) + 4 * index, 4);
  return out;
}

template <class Row>
void PutWord(Row& row, int lane, uint32_t word) {
  std::memcpy(&row[kGroup * lane], &word, 4);
}

constexpr uint32_t kLowNibbles = 0x0f0f0f0f;

// A block of one output, whose group g is the low four bits of groups[g]'s bytes.
void PutNibbles(Nibbles& q, int lane, const uint32_t (&groups)[8]) {
  for (int i = 0; i < 4; ++i) {
    PutWord(q[i], lane, (groups[i] & kLowNibbles) | (groups[i + 4] & kLowNibbles) << 4);
  }
}

void PutScales(ScalesK& out, int lane, const uint8_t packed[12]) {
  const auto put = [&](int i, int value, int shift_low, int shift_high) {
    out.low[i / 64][i % 64] |= static_cast<uint8_t>((value & 15) << shift_low);
    out.high[i % 64] |= static_cast<uint8_t>((value >> 4) << (shift_high + 2 * (i / 64)));
  };
  for (int b = 0; b < kBlocks; ++b) {
    const ScaleMin value = UnpackScaleMin(packed, b);
    put(kPanel * b + lane, value.scale, 0, 0);
    put(2 * kPanel * (b / 2) + 2 * lane + b % 2, value.min, 4, 4);
  }
}

Fp16 Negative(Fp16 value) { return {static_cast<uint16_t>(value.bits ^ 0x8000u)}; }

// One file block into its place of a chunk; `block` counts the file's blocks within the chunk.
void Put(ChunkQ8_0& chunk, int lane, int block, const BlockQ8_0& from) {
  for (int g = 0; g < 8; ++g) PutWord(chunk.q[8 * block + g], lane, Word(from.qs, g));
  chunk.d[block][lane] = from.d;
}

// Its values, -16 to 15, as Q8_0's.
void Put(ChunkQ8_0& chunk, int lane, int block, const BlockQ5_0& from) {
  uint32_t high;
  std::memcpy(&high, from.qh, 4);
  for (int i = 0; i < kBlock; ++i) {
    const int low = (from.qs[i % 16] >> (i < 16 ? 0 : 4)) & 15;
    const int value = (low | static_cast<int>(high >> i & 1) << 4) - 16;
    chunk.q[8 * block + i / kGroup][kGroup * lane + i % kGroup] = static_cast<int8_t>(value);
  }
  chunk.d[block][lane] = from.d;
}

// The file's nibbles lie as ours do: element i below element i + 16.
void Put(ChunkQ4_0& chunk, int lane, int block, const BlockQ4_0& from) {
  for (int i = 0; i < 4; ++i) PutWord(chunk.q[block][i], lane, Word(from.qs, i));
  chunk.d[block][lane] = from.d;
}

// The low nibbles of block b of Q4_K and Q5_K: 32 bytes hold two blocks of 32, the first in their low halves.
template <class Block>
void PutLow(Nibbles& q, int lane, int b, const Block& from) {
  uint32_t groups[8];
  for (int g = 0; g < 8; ++g) groups[g] = Word(from.qs + 32 * (b / 2), g) >> (b % 2 == 0 ? 0 : 4);
  PutNibbles(q, lane, groups);
}

template <class Chunk, class Block>
void PutScalesAndMinimums(Chunk& chunk, int lane, const Block& from) {
  PutScales(chunk.scales, lane, from.scales);
  chunk.d[lane] = from.d;
  chunk.negative_dmin[lane] = Negative(from.dmin);
}

void Put(ChunkQ4K& chunk, int lane, int, const BlockQ4_K& from) {
  PutScalesAndMinimums(chunk, lane, from);
  for (int b = 0; b < kBlocks; ++b) PutLow(chunk.q[b], lane, b, from);
}

void Put(ChunkQ5K& chunk, int lane, int, const BlockQ5_K& from) {
  PutScalesAndMinimums(chunk, lane, from);
  for (int b = 0; b < kBlocks; ++b) {
    PutLow(chunk.blocks[b].q, lane, b, from);
    uint32_t bits = 0;
    for (int g = 0; g < 8; ++g) bits |= ((Word(from.qh, g) >> b) & 0x01010101) << g;
    PutWord(chunk.blocks[b].high, lane, bits);
  }
}

// Each half of 128: four runs of 32, in the nibbles ql[0..31] low, ql[32..63] low, ql[0..31] high, ql[32..63] high,
// with their two high bits in qh[0..31] from below.
void Put(ChunkQ6K& chunk, int lane, int, const BlockQ6_K& from) {
  for (int b = 0; b < kBlocks; ++b) {
    const int half = b / 4;
    const int run = b % 4;
    uint32_t groups[8];
    for (int g = 0; g < 8; ++g) groups[g] = Word(from.ql + 64 * half + 32 * (run % 2), g) >> (run < 2 ? 0 : 4);
    PutNibbles(chunk.blocks[b].q, lane, groups);
    for (int quarter = 0; quarter < 2; ++quarter) {
      uint32_t bits = 0;
      for (int i = 0; i < 4; ++i) {
        bits |= ((Word(from.qh + 32 * half, 4 * quarter + i) >> (2 * run)) & 0x03030303) << (2 * i);
      }
      PutWord(chunk.blocks[b].high[quarter], lane, bits);
    }
  }
  for (int s = 0; s < kChunk / 16; ++s) chunk.scales[s][lane] = from.scales[s];
  chunk.d[lane] = from.d;
}

template <class Chunk, class Block>
void PackBlocks(const HostMatrix& matrix, int64_t panel, std::byte* out, int block_inputs) {
  auto* chunks = reinterpret_cast<Chunk*>(out);
  const int64_t blocks = matrix.cols / block_inputs;
  const int in_chunk = kChunk / block_inputs;
  const int64_t lanes = std::min<int64_t>(kPanel, matrix.rows - panel * kPanel);
  for (int64_t b = 0; b < blocks; ++b) {
    for (int lane = 0; lane < lanes; ++lane) {
      const std::byte* row = matrix.data.data() + (panel * kPanel + lane) * host::RowBytesOf(matrix);
      Put(chunks[b / in_chunk], lane, static_cast<int>(b % in_chunk), reinterpret_cast<const Block*>(row)[b]);
    }
  }
}

template <class T>
void PackPlain(const HostMatrix& matrix, int64_t panel, std::byte* out) {
  auto* to = reinterpret_cast<T*>(out);
  const int64_t lanes = std::min<int64_t>(kPanel, matrix.rows - panel * kPanel);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const std::byte* row = matrix.data.data() + (panel * kPanel + lane) * host::RowBytesOf(matrix);
    for (int64_t i = 0; i < matrix.cols; ++i) std::memcpy(to + i * kPanel + lane, row + i * sizeof(T), sizeof(T));
  }
}

// Two inputs of an output side by side; what an odd number of inputs leaves over stays zero.
void PackPairs(const HostMatrix& matrix, int64_t panel, std::byte* out) {
  auto* to = reinterpret_cast<uint16_t*>(out);
  const int64_t lanes = std::min<int64_t>(kPanel, matrix.rows - panel * kPanel);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const std::byte* row = matrix.data.data() + (panel * kPanel + lane) * host::RowBytesOf(matrix);
    for (int64_t i = 0; i < matrix.cols; i += 2) {
      std::memcpy(to + i * kPanel + 2 * lane, row + 2 * i,
                  static_cast<size_t>(2 * std::min<int64_t>(2, matrix.cols - i)));
    }
  }
}

void PackDecoded(const HostMatrix& matrix, int64_t panel, std::byte* out) {
  auto* to = reinterpret_cast<float*>(out);
  const int64_t lanes = std::min<int64_t>(kPanel, matrix.rows - panel * kPanel);
  std::vector<float> row(static_cast<size_t>(matrix.cols));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    DequantizeRow(matrix.type, matrix.data.data() + (panel * kPanel + lane) * host::RowBytesOf(matrix), row.data(),
                  matrix.cols);
    for (int64_t i = 0; i < matrix.cols; ++i) to[i * kPanel + lane] = row[i];
  }
}

}  // namespace

PanelFormat FormatOf(TensorType type) {
  switch (type) {
    case TensorType::kF16:
      return PanelFormat::kF16;
    case TensorType::kBf16:
      return PanelFormat::kBf16;
    case TensorType::kQ8_0:
    case TensorType::kQ5_0:  // what models take instead of K types whose inputs are no multiple of 256
      return PanelFormat::kQ8_0;
    case TensorType::kQ4_0:
      return PanelFormat::kQ4_0;
    case TensorType::kQ4_K:
      return PanelFormat::kQ4K;
    case TensorType::kQ5_K:
      return PanelFormat::kQ5K;
    case TensorType::kQ6_K:
      return PanelFormat::kQ6K;
    default:
      return PanelFormat::kF32;
  }
}

const char* FormatName(PanelFormat format) {
  switch (format) {
    case PanelFormat::kF32:
      return "f32";
    case PanelFormat::kF16:
      return "f16";
    case PanelFormat::kBf16:
      return "bf16";
    case PanelFormat::kQ8_0:
      return "q8_0";
    case PanelFormat::kQ4_0:
      return "q4_0";
    case PanelFormat::kQ4K:
      return "q4_k";
    case PanelFormat::kQ5K:
      return "q5_k";
    case PanelFormat::kQ6K:
      return "q6_k";
  }
  return "";
}

int64_t PanelBytes(PanelFormat format, int64_t inputs) {
  const int64_t chunks = (inputs + kChunk - 1) / kChunk;
  switch (format) {
    case PanelFormat::kF32:
      return inputs * kPanel * 4;
    case PanelFormat::kF16:
      return inputs * kPanel * 2;
    case PanelFormat::kBf16:
      return (inputs + 1) / 2 * kPanel * 4;
    case PanelFormat::kQ8_0:
      return chunks * static_cast<int64_t>(sizeof(ChunkQ8_0));
    case PanelFormat::kQ4_0:
      return chunks * static_cast<int64_t>(sizeof(ChunkQ4_0));
    case PanelFormat::kQ4K:
      return chunks * static_cast<int64_t>(sizeof(ChunkQ4K));
    case PanelFormat::kQ5K:
      return chunks * static_cast<int64_t>(sizeof(ChunkQ5K));
    case PanelFormat::kQ6K:
      return chunks * static_cast<int64_t>(sizeof(ChunkQ6K));
  }
  return 0;
}

void PackPanel(PanelFormat format, const HostMatrix& matrix, int64_t panel, std::byte* out) {
  switch (format) {
    case PanelFormat::kF32:
      return matrix.type == TensorType::kF32 ? PackPlain<float>(matrix, panel, out) : PackDecoded(matrix, panel, out);
    case PanelFormat::kF16:
      return PackPlain<uint16_t>(matrix, panel, out);
    case PanelFormat::kBf16:
      return PackPairs(matrix, panel, out);
    case PanelFormat::kQ8_0:
      return matrix.type == TensorType::kQ8_0 ? PackBlocks<ChunkQ8_0, BlockQ8_0>(matrix, panel, out, kSmallBlock)
                                              : PackBlocks<ChunkQ8_0, BlockQ5_0>(matrix, panel, out, kSmallBlock);
    case PanelFormat::kQ4_0:
      return PackBlocks<ChunkQ4_0, BlockQ4_0>(matrix, panel, out, kSmallBlock);
    case PanelFormat::kQ4K:
      return PackBlocks<ChunkQ4K, BlockQ4_K>(matrix, panel, out, kSuperBlock);
    case PanelFormat::kQ5K:
      return PackBlocks<ChunkQ5K, BlockQ5_K>(matrix, panel, out, kSuperBlock);
    case PanelFormat::kQ6K:
      return PackBlocks<ChunkQ6K, BlockQ6_K>(matrix, panel, out, kSuperBlock);
  }
}

}  // namespace inferflux::compute::cpu
