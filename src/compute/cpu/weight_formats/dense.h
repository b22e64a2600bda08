// F32, F16 and BF16: panels without chunks. F32 and F16 are [inputs][16 outputs]; BF16 is [inputs / 2][16 outputs][2
// inputs], the layout of bfloat16 dot products. Types without a format are decoded to F32.
#pragma once

#include <algorithm>

#include "compute/cpu/weight_formats/panel.h"

namespace inferflux::compute::cpu {

template <class T, formats::TensorType kType>
struct DensePanel {
  static constexpr bool kInt8Matmul = false;
  static constexpr bool kBf16Activations = false;
  using FileBlocks = FileBlockList<FileBlock<kType, T>>;

  static constexpr int64_t PanelBytes(int64_t inputs) { return inputs * kPanel * static_cast<int64_t>(sizeof(T)); }
  static void PackRow(std::byte* panel, int64_t lane, const std::byte* row, int64_t inputs) {
    for (int64_t i = 0; i < inputs; ++i) {
      std::memcpy(panel + (i * kPanel + lane) * sizeof(T), row + i * sizeof(T), sizeof(T));
    }
  }
};

struct DenseF32 : DensePanel<float, formats::TensorType::kF32> {
  static constexpr const char* kName = "f32";
};

struct DenseF16 : DensePanel<Fp16, formats::TensorType::kF16> {
  static constexpr const char* kName = "f16";
};

struct DenseBf16 {
  static constexpr const char* kName = "bf16";
  static constexpr bool kInt8Matmul = false;
  static constexpr bool kBf16Activations = true;
  using FileBlocks = FileBlockList<FileBlock<formats::TensorType::kBf16, Bf16>>;

  static constexpr int64_t PanelBytes(int64_t inputs) { return (inputs + 1) / 2 * kPanel * 4; }
  // For an odd number of inputs, the other half of the last pair stays zero.
  static void PackRow(std::byte* panel, int64_t lane, const std::byte* row, int64_t inputs) {
    for (int64_t i = 0; i < inputs; i += 2) {
      std::memcpy(panel + (i * kPanel + 2 * lane) * 2, row + 2 * i,
                  static_cast<size_t>(2 * std::min<int64_t>(2, inputs - i)));
    }
  }
};

}  // namespace inferflux::compute::cpu
