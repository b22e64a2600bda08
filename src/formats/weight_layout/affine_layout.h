// Weights in MLX's layout: w[o][i] = scale[o][g] * q[o][i] + bias[o][g], where g is the group of input i
// (ml-explore/mlx, its affine quantisation).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "formats/tensor_type.h"

namespace inferflux::formats {

// A matrix of [outputs, inputs] that borrows its numbers, unaligned, from a checkpoint or from `owner`.
struct AffineLayout {
  int32_t bits = 4;                          // of a q: 2, 3, 4, 5, 6 or 8
  int32_t group = 64;                        // inputs that share a scale and a bias
  TensorType scale_type = TensorType::kF32;  // F32, F16 or BF16
  std::span<const std::byte> words;   // [outputs, inputs * bits / 32]: bit strings, starting with the lowest bit of the
                                      // first q
  std::span<const std::byte> scales;  // [outputs, inputs / group]
  std::span<const std::byte> biases;
  std::shared_ptr<const void> owner = nullptr;
};

}  // namespace inferflux::formats
