// Products of one row with blocks of weights, in float.
#pragma once

#include "compute/cuda/kernels/products/products.h"

namespace inferflux::cuda {

// Whether MultiplyOneRow reads the type, and a row of weights has few enough values for the threads of a block.
bool TakesOneRow(const WeightMatrix& w);

// y[n] = x[k] * w[n, k]^T in float.
Status MultiplyOneRow(Rows<const float> x, const WeightMatrix& w, float* y, Stream stream);

}  // namespace inferflux::cuda
