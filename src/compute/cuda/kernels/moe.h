// Mixture of experts: which experts take each row, and what becomes of their results. Line l = row * used + choice.
#pragma once

#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::cuda {

// experts and weights [rows * used]: the choices of compute::MoeRouting's Route, with scores in float. biases [columns]
// or null. A row's choices are distinct and in range whatever the logits are.
Status RouteRows(Rows<const float> logits, const float* biases, const compute::RoutingParams& params, int32_t* experts,
                 float* weights, Stream stream);

// y = x + biases of the line's expert, and x * scales of it: [experts, columns] each.
Status AddExpertBias(Rows<const float> x, const int32_t* experts, const float* biases, Rows<float> y, Stream stream);
Status ScaleExpertColumns(Rows<const float> x, const int32_t* experts, const float* scales, Rows<float> y,
                          Stream stream);

// y[r] = the sum of row r's `used` lines, each times its weight, in order.
Status CombineLines(Rows<const float> lines, int32_t used, const float* weights, Rows<float> y, Stream stream);

}  // namespace inferflux::cuda
