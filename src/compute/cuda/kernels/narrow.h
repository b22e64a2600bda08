// Floats as 16-bit elements, for the tensor cores.
#pragma once

#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::cuda {

// y [rows, y_columns] of T, dense: x rounded to T, zeros beyond x's columns. T is Fp16 or Bf16. With `scales` [rows]
// each row is divided by a power of two first, so that its largest element is in [1, 2): FP16's range does not bound
// what a model may compute. scales[r] undoes it.
template <class T>
Status Narrow(Rows<const float> x, int64_t y_columns, T* y, float* scales, Stream stream);

}  // namespace inferflux::cuda
