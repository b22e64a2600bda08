// 8-bit floats (E4M3) of checkpoints with a scale for each 128 inputs: value = scale * (q / 256), rounded to a float.
// They are multiplied as floats. GGUF has no such type; a matrix has it as its weight layout.
#pragma once

#include <algorithm>
#include <limits>

#include "compute/cpu/weight_formats/panel.h"

namespace inferflux::compute::cpu {

inline constexpr int kFp8Inputs = 128;  // inputs of a chunk; all chunks are full

struct ChunkedFp8 {
  static constexpr const char* kName = "fp8";
  struct alignas(64) Chunk {
    float scales[kPanel];  // NaN if one of the weights is NaN
    Fp8 q[kFp8Inputs][kPanel];
  };
  static constexpr bool kInt8Matmul = false;
  static constexpr bool kBf16Activations = false;
  using FileBlocks = FileBlockList<>;

  static constexpr int64_t PanelBytes(int64_t inputs) {
    return (inputs + kFp8Inputs - 1) / kFp8Inputs * static_cast<int64_t>(sizeof(Chunk));
  }
  // scales: one per `block_inputs`, which must be a multiple of kFp8Inputs.
  static void PackRow(Chunk* chunks, int64_t lane, const std::byte* row, int64_t inputs, const float* scales,
                      int64_t block_inputs) {
    const auto is_nan = [](std::byte fp8) { return (fp8 & std::byte{0x7f}) == std::byte{0x7f}; };
    for (int64_t first = 0; first < inputs; first += kFp8Inputs) {
      Chunk& chunk = chunks[first / kFp8Inputs];
      const int64_t count = std::min<int64_t>(kFp8Inputs, inputs - first);
      for (int64_t i = 0; i < count; ++i) chunk.q[i][lane] = Fp8{static_cast<uint8_t>(row[first + i])};
      const bool nan = std::any_of(row + first, row + first + count, is_nan);
      chunk.scales[lane] = nan ? std::numeric_limits<float>::quiet_NaN() : scales[first / block_inputs] * 256.0f;
    }
  }
};

}  // namespace inferflux::compute::cpu
