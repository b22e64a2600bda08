// Products of one row with blocks of weights.
#pragma once

#include "compute/cuda/kernels/products/products.h"

namespace inferflux::cuda {

// Whether MultiplyOneRow reads the type, and a row of weights has few enough values for the threads of a block.
bool TakesOneRow(const WeightMatrix& w);

// y[n] = x[k] * w[n, k]^T, where runs of 32 inputs are rounded to 2^-16 of the largest of them.
Status MultiplyOneRow(Rows<const float> x, const WeightMatrix& w, float* y, Stream stream);

}  // namespace inferflux::cuda
