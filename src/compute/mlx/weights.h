// Converts a file's weights to MLX's: plain arrays, or one of MLX's quantised layouts.
#pragma once

#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

inline constexpr int kAffineGroup = 32;  // inputs that share a scale and a bias, where we choose

// Converts one matrix of a file. Throws MLX's exceptions.
Mlx::Weights WeightsOf(Mlx::Context& context, const HostMatrix& matrix);

// The type that matmuls with the weights compute in: float32, or with `narrow` the type that they are held in.
mlx::core::Dtype MatmulType(const Mlx::Weights& weights, bool narrow);

// x [..., rows, inputs] times the transposed weights, in float32. Where both have a leading dimension, each pair by
// itself.
mlx::core::array Product(const mlx::core::array& x, const Mlx::Weights& weights, bool narrow);

// For block formats with w = scale * q + bias over 32 inputs: the bits of q; 0 for all other types.
int AffineBits(formats::TensorType type);
// Lossless: scales and biases are float32, which holds the product of a 16-bit float and a 6-bit number exactly.
Mlx::Weights AffineWeights(const HostMatrix& matrix);

// Converts MXFP4, without loss.
Mlx::Weights Mxfp4Weights(const HostMatrix& matrix);

}  // namespace inferflux::compute
