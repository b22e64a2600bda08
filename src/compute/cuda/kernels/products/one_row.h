// Products of one row.
#pragma once

#include "compute/cuda/kernels/products/products.h"

namespace inferflux::cuda {

// Whether MultiplyOneRow reads the type, and the inputs fit into the shared memory of a block.
bool TakesOneRow(const WeightMatrix& w);

// y[n] = x[k] * w[n, k]^T. With blocks of weights, runs of 32 inputs are rounded to 2^-16 of the largest of them.
Status MultiplyOneRow(Rows<const float> x, const WeightMatrix& w, float* y, Stream stream);

}  // namespace inferflux::cuda
