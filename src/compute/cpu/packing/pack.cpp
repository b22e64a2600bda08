#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "compute/cpu/packing/pack_4bit_zero_point.h"
#include "compute/cpu/packing/pack_blocks.h"
#include "compute/cpu/packing/packed_matrix.h"
#include "compute/host/check_matrix.h"
#include "formats/quant/dequantize.h"

namespace inferflux::compute::cpu {
namespace {

using namespace formats;  // NOLINT: the block structs

template <class Chunk, class Block>
void PackBlocks(const HostMatrix& matrix, int64_t panel, std::byte* out, int block_inputs) {
  auto* chunks = reinterpret_cast<Chunk*>(out);
  const int64_t blocks = matrix.cols / block_inputs;
  const int in_chunk = kChunk / block_inputs;
  const int64_t lanes = std::min<int64_t>(kPanel, matrix.rows - panel * kPanel);
  for (int64_t b = 0; b < blocks; ++b) {
    for (int lane = 0; lane < lanes; ++lane) {
      const std::byte* row = matrix.data.data() + (panel * kPanel + lane) * host::RowBytesOf(matrix);
      PackBlock(chunks[b / in_chunk], lane, static_cast<int>(b % in_chunk), reinterpret_cast<const Block*>(row)[b]);
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

bool IsNone(std::byte fp8) { return (fp8 & std::byte{0x7f}) == std::byte{0x7f}; }

void PackFp8(const Fp8Layout& form, const HostMatrix& matrix, int64_t panel, std::byte* out) {
  auto* chunks = reinterpret_cast<ChunkFp8*>(out);
  const int64_t lanes = std::min<int64_t>(kPanel, matrix.rows - panel * kPanel);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t output = panel * kPanel + lane;
    const std::byte* row = form.values.data() + output * matrix.cols;
    const float* scales = form.scales.data() + output / form.block_outputs * ScaleColumns(form, matrix.cols);
    for (int64_t first = 0; first < matrix.cols; first += kFp8Inputs) {
      ChunkFp8& chunk = chunks[first / kFp8Inputs];
      const int64_t count = std::min<int64_t>(kFp8Inputs, matrix.cols - first);
      for (int64_t i = 0; i < count; ++i) chunk.q[i][lane] = Fp8{static_cast<uint8_t>(row[first + i])};
      const bool none = std::any_of(row + first, row + first + count, IsNone);
      chunk.scales[lane] = none ? std::numeric_limits<float>::quiet_NaN() : scales[first / form.block_inputs] * 256.0f;
    }
  }
}

void PackDecoded(const HostMatrix& matrix, int64_t panel, std::byte* out) {
  auto* to = reinterpret_cast<float*>(out);
  const int64_t lanes = std::min<int64_t>(kPanel, matrix.rows - panel * kPanel);
  std::vector<float> row(static_cast<size_t>(matrix.cols));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    host::ReadRow(matrix, panel * kPanel + lane, row.data());
    for (int64_t i = 0; i < matrix.cols; ++i) to[i * kPanel + lane] = row[i];
  }
}

struct Facts {
  PanelFormat format;
  const char* name;
  int64_t chunk_bytes = 0;  // 0: a dense panel
  int64_t block_bytes = 0;  // of those, each block's values
};
constexpr Facts kFacts[] = {
    {PanelFormat::kF32, "f32"},
    {PanelFormat::kF16, "f16"},
    {PanelFormat::kBf16, "bf16"},
    {PanelFormat::kFp8, "fp8", sizeof(ChunkFp8)},
    {PanelFormat::kQ8_0, "q8_0", sizeof(ChunkQ8_0), 8 * kGroupBytes},
    {PanelFormat::kZeroPoint4By32, "q8_0 in 4 bits", sizeof(ChunkZeroPoint4<1>), sizeof(Nibbles)},
    {PanelFormat::kZeroPoint4By128, "q8_0 in 4 bits", sizeof(ChunkZeroPoint4<kZeroPoint4Run>), sizeof(Nibbles)},
    {PanelFormat::kQ4_0, "q4_0", sizeof(ChunkQ4_0), sizeof(Nibbles)},
    {PanelFormat::kQ4_1, "q4_1", sizeof(ChunkQ4_1), sizeof(Nibbles)},
    {PanelFormat::kQ5_0, "q5_0", sizeof(ChunkQ5_0), sizeof(FiveBits)},
    {PanelFormat::kQ5_1, "q5_1", sizeof(ChunkQ5_1), sizeof(FiveBits)},
    {PanelFormat::kIq4Nl, "iq4_nl", sizeof(ChunkIq4Nl), sizeof(Nibbles)},
    {PanelFormat::kIq4Xs, "iq4_xs", sizeof(ChunkIq4Xs)},
    {PanelFormat::kFp4, "fp4", sizeof(ChunkFp4), sizeof(Nibbles)},
    {PanelFormat::kNvFp4, "nvfp4", sizeof(ChunkNvFp4), sizeof(Nibbles)},
    {PanelFormat::kQ2K, "q2_k", sizeof(ChunkQ2K)},
    {PanelFormat::kQ3K, "q3_k", sizeof(ChunkQ3K)},
    {PanelFormat::kQ4K, "q4_k", sizeof(ChunkQ4K)},
    {PanelFormat::kQ5K, "q5_k", sizeof(ChunkQ5K)},
    {PanelFormat::kQ6K, "q6_k", sizeof(ChunkQ6K)},
    {PanelFormat::kCodebook, "lattice", sizeof(ChunkCodebook)},
};
static_assert(std::size(kFacts) == kPanelFormats);

const Facts& FactsOf(PanelFormat format) { return *std::ranges::find(kFacts, format, &Facts::format); }

}  // namespace

PanelFormat FormatOf(const HostMatrix& matrix, ThreadPool& pool) {
  if (matrix.form) return PanelFormat::kFp8;
  if (matrix.type != TensorType::kQ8_0) return FormatOf(matrix.type);
  const int run = ZeroPoint4Run(matrix, pool);
  if (run == 0) return PanelFormat::kQ8_0;
  return run == 1 ? PanelFormat::kZeroPoint4By32 : PanelFormat::kZeroPoint4By128;
}

const char* FormatName(PanelFormat format) { return FactsOf(format).name; }

int64_t PanelBytes(PanelFormat format, int64_t inputs) {
  switch (format) {
    case PanelFormat::kF32:
      return inputs * kPanel * 4;
    case PanelFormat::kF16:
      return inputs * kPanel * 2;
    case PanelFormat::kBf16:
      return (inputs + 1) / 2 * kPanel * 4;
    case PanelFormat::kFp8:
      return (inputs + kFp8Inputs - 1) / kFp8Inputs * static_cast<int64_t>(sizeof(ChunkFp8));
    default: {
      const Facts& facts = FactsOf(format);
      const int64_t chunks = (inputs + kChunk - 1) / kChunk;
      const int64_t missing = (chunks * kChunk - inputs) / kBlock;  // none of types whose blocks are chunks
      return chunks * facts.chunk_bytes - missing * facts.block_bytes;
    }
  }
}

void PackPanel(const HostMatrix& matrix, PanelFormat format, int64_t panel, std::byte* out) {
  if (format == PanelFormat::kZeroPoint4By32) return PackZeroPoint4(matrix, 1, panel, out);
  if (format == PanelFormat::kZeroPoint4By128) return PackZeroPoint4(matrix, kZeroPoint4Run, panel, out);
  if (matrix.form) return PackFp8(std::get<Fp8Layout>(*matrix.form), matrix, panel, out);
  switch (matrix.type) {
    case TensorType::kF32:
      return PackPlain<float>(matrix, panel, out);
    case TensorType::kF16:
      return PackPlain<uint16_t>(matrix, panel, out);
    case TensorType::kBf16:
      return PackPairs(matrix, panel, out);
    case TensorType::kQ8_0:
      return PackBlocks<ChunkQ8_0, BlockQ8_0>(matrix, panel, out, kSmallBlock);
    case TensorType::kQ5_0:
      return PackBlocks<ChunkQ5_0, BlockQ5_0>(matrix, panel, out, kSmallBlock);
    case TensorType::kQ4_0:
      return PackBlocks<ChunkQ4_0, BlockQ4_0>(matrix, panel, out, kSmallBlock);
    case TensorType::kQ4_1:
      return PackBlocks<ChunkQ4_1, BlockQ4_1>(matrix, panel, out, kSmallBlock);
    case TensorType::kQ5_1:
      return PackBlocks<ChunkQ5_1, BlockQ5_1>(matrix, panel, out, kSmallBlock);
    case TensorType::kIq4Nl:
      return PackBlocks<ChunkIq4Nl, BlockIq4Nl>(matrix, panel, out, kSmallBlock);
    case TensorType::kIq4Xs:
      return PackBlocks<ChunkIq4Xs, BlockIq4Xs>(matrix, panel, out, kSuperBlock);
    case TensorType::kMxfp4:
      return PackBlocks<ChunkFp4, BlockMxfp4>(matrix, panel, out, kSmallBlock);
    case TensorType::kNvfp4:
      return PackBlocks<ChunkNvFp4, BlockNvfp4>(matrix, panel, out, 64);
    case TensorType::kQ2_K:
      return PackBlocks<ChunkQ2K, BlockQ2_K>(matrix, panel, out, kSuperBlock);
    case TensorType::kQ3_K:
      return PackBlocks<ChunkQ3K, BlockQ3_K>(matrix, panel, out, kSuperBlock);
    case TensorType::kQ4_K:
      return PackBlocks<ChunkQ4K, BlockQ4_K>(matrix, panel, out, kSuperBlock);
    case TensorType::kQ5_K:
      return PackBlocks<ChunkQ5K, BlockQ5_K>(matrix, panel, out, kSuperBlock);
    case TensorType::kQ6_K:
      return PackBlocks<ChunkQ6K, BlockQ6_K>(matrix, panel, out, kSuperBlock);
    case TensorType::kIq1S:
      return PackBlocks<ChunkCodebook, BlockIq1S>(matrix, panel, out, kSuperBlock);
    case TensorType::kIq1M:
      return PackBlocks<ChunkCodebook, BlockIq1M>(matrix, panel, out, kSuperBlock);
    case TensorType::kIq2Xxs:
      return PackBlocks<ChunkCodebook, BlockIq2Xxs>(matrix, panel, out, kSuperBlock);
    case TensorType::kIq2Xs:
      return PackBlocks<ChunkCodebook, BlockIq2Xs>(matrix, panel, out, kSuperBlock);
    case TensorType::kIq2S:
      return PackBlocks<ChunkCodebook, BlockIq2S>(matrix, panel, out, kSuperBlock);
    case TensorType::kIq3Xxs:
      return PackBlocks<ChunkCodebook, BlockIq3Xxs>(matrix, panel, out, kSuperBlock);
    case TensorType::kIq3S:
      return PackBlocks<ChunkCodebook, BlockIq3S>(matrix, panel, out, kSuperBlock);
    case TensorType::kTq1_0:
      return PackBlocks<ChunkQ2K, BlockTq1_0>(matrix, panel, out, kSuperBlock);
    case TensorType::kTq2_0:
      return PackBlocks<ChunkQ2K, BlockTq2_0>(matrix, panel, out, kSuperBlock);
    default:
      return PackDecoded(matrix, panel, out);
  }
}

}  // namespace inferflux::compute::cpu
