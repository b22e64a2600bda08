#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::compute {

Cuda::Buffer Cuda::RmsNorm(Context& context, View x, View weight, float epsilon) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::RmsNorm({.x = from, .weight = weight.data, .width = weight.cols, .epsilon = epsilon, .y = to.data},
                         context.stream);
  });
}

Cuda::Buffer Cuda::LayerNorm(Context& context, View x, View weight, View bias, float epsilon) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::LayerNorm(from, weight.data, bias.data, epsilon, to.data, context.stream);
  });
}

}  // namespace inferflux::compute
