#include <algorithm>
#include <cstring>

#include "compute/host/check_matrix.h"
#include "compute/mlx/arrays.h"
#include "compute/mlx/weights.h"
#include "formats/quant/blocks.h"

namespace inferflux::compute {

// Both layouts have one exponent per block and the same four bits per value. MLX stores values in order, eight per
// word; in GGUF value i shares a byte with value i + 16.
Mlx::Weights Mxfp4Weights(const HostMatrix& matrix) {
  using formats::BlockMxfp4;
  constexpr int kWords = formats::kSmallBlock / 8;
  const int64_t blocks = matrix.cols / formats::kSmallBlock;
  Mlx::Weights out{.values = MakeArray<uint32_t>({Int(matrix.rows), Int(blocks * kWords)}, mx::uint32, [](auto*) {}),
                   .scales = MakeArray<uint8_t>({Int(matrix.rows), Int(blocks)}, mx::uint8, [](auto*) {}),
                   .biases = std::nullopt,
                   .bits = 4,
                   .group = formats::kSmallBlock,
                   .mode = "mxfp4"};
  auto* words = out.values.data<uint32_t>();
  auto* exponents = out.scales->data<uint8_t>();
  for (int64_t r = 0; r < matrix.rows; ++r) {
    const std::byte* row = matrix.data.data() + r * host::RowBytesOf(matrix);
    for (int64_t b = 0; b < blocks; ++b) {
      BlockMxfp4 block;  // a file's rows need not be aligned
      std::memcpy(&block, row + b * static_cast<int64_t>(sizeof(block)), sizeof(block));
      *exponents++ = block.e;
      uint32_t packed[kWords] = {};
      for (int i = 0; i < 16; ++i) {
        packed[i / 8] |= static_cast<uint32_t>(block.qs[i] & 15) << (i % 8 * 4);
        packed[2 + i / 8] |= static_cast<uint32_t>(block.qs[i] >> 4) << (i % 8 * 4);
      }
      words = std::copy(packed, packed + kWords, words);
    }
  }
  return out;
}

}  // namespace inferflux::compute
