// Weights as 8-bit floats (E4M3, arXiv:2209.05433) with scales: w[o][i] = fp8[o][i] * scale, rounded to a float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace inferflux::formats {

// The least number of consecutive inputs of an output that share a scale. Blocks begin at multiples of it.
inline constexpr int64_t kFp8Run = 128;

// Bounds the scales, so that a matmul may move a power of two from the weights to the scale.
inline constexpr float kMostFp8Scale = 0x1p100f;

// A matrix of [outputs, inputs] that borrows its numbers from a checkpoint or from `owner`.
struct Fp8Layout {
  int64_t block_outputs = 1;  // outputs and inputs that share a scale; inputs: a multiple of kFp8Run, or all
  int64_t block_inputs = 1;
  std::span<const std::byte> values;  // [outputs, inputs]
  std::span<const float> scales;      // [blocks of outputs, blocks of inputs]; magnitudes below kMostFp8Scale
  std::shared_ptr<const void> owner = nullptr;
};

// The number of scales of an output.
constexpr int64_t ScaleColumns(const Fp8Layout& layout, int64_t inputs) {
  return (inputs + layout.block_inputs - 1) / layout.block_inputs;
}

// Decodes the weights of one output.
void ReadRow(const Fp8Layout& layout, int64_t row, int64_t inputs, float* out);

}  // namespace inferflux::formats
