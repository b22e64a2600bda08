#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::compute {

Cuda::Buffer Cuda::RmsNorm(Context& context, View x, View weight, float epsilon) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::RmsNorm({.x = from, .weight = weight.data, .width = weight.cols, .epsilon = epsilon, .y = to.data},
                         context.stream);
  });
}

SumAndNorm<Cuda::Buffer> Cuda::AddRmsNorm(Context& context, View a, View b, View weight, float epsilon) {
  SumAndNorm<Buffer> out{cuda_ops::New(context, a.rows, a.cols), cuda_ops::New(context, a.rows, a.cols)};
  if (!out.sum.memory) return out;
  cuda_ops::Must(cuda::AddRmsNorm({.a = cuda_ops::RowsOf(a),
                                   .b = cuda_ops::RowsOf(b),
                                   .weight = weight.data,
                                   .epsilon = epsilon,
                                   .sum = out.sum.data(),
                                   .y = out.normed.data()},
                                  context.stream));
  return out;
}

Cuda::Buffer Cuda::LayerNorm(Context& context, View x, View weight, View bias, float epsilon) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::LayerNorm(from, weight.data, bias.data, epsilon, to.data, context.stream);
  });
}

}  // namespace inferflux::compute
