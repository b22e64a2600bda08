// The operations of compute::StreamMixing and compute::ActivationSparsity.
#pragma once

#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::cuda {

// x: [rows, inputs * n]; factors: [rows, outputs * inputs], or one row for all; y: [rows, outputs * n].
Status MixStreams(Rows<const float> x, Rows<const float> factors, int32_t inputs, Rows<float> y, Stream stream);
// x and y: [rows, streams * n]; like: [rows, n].
Status MatchMagnitudes(Rows<const float> x, Rows<const float> like, Rows<float> y, Stream stream);
Status CutRows(Rows<const float> x, float deviations, Rows<float> y, Stream stream);

}  // namespace inferflux::cuda
