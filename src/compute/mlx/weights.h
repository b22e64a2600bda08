// From a file's weights to MLX's: plain arrays, or one of MLX's quantised forms.
#pragma once

#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

inline constexpr int kAffineGroup = 32;  // inputs that share a scale and a bias, where the choice is ours

// One matrix of a file. Throws what MLX throws.
Mlx::Weights WeightsOf(Mlx::Context& context, const HostMatrix& matrix);

// What products with the weights are computed in: float32, or `narrow`ly the type that they are held in.
mlx::core::Dtype MatmulType(const Mlx::Weights& weights, bool narrow);

// Block formats whose blocks are w = scale * q + bias over 32 inputs: `bits` of q, or 0 for all other types.
int AffineBits(formats::TensorType type);
// Without loss: scales and biases are float32, and products of a 16-bit float with a 6-bit number fit in there.
Mlx::Weights AffineWeights(const HostMatrix& matrix);

// MXFP4's, without loss.
Mlx::Weights Mxfp4Weights(const HostMatrix& matrix);

}  // namespace inferflux::compute
