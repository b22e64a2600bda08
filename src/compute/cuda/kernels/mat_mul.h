// Products with dense weights by mma.sync.
#pragma once

#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::cuda {

// y[m, n] = x[m, k] * w[n, k]^T, rounded once from float. T is Fp16 or Bf16; Out is T or float. Rows of x and w begin
// at multiples of 16 bytes, and k is a multiple of 8; y is dense. A row's result does not depend on the other rows.
template <class T, class Out>
Status MatMul(Rows<const T> x, Rows<const T> w, Out* y, Stream stream);

}  // namespace inferflux::cuda
