#include <cassert>

#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::compute {

using cuda_ops::OfShape;

Cuda::View Cuda::Columns(View x, int64_t first, int64_t count) {
  assert(first >= 0 && count >= 0 && first + count <= x.cols);
  return {x.data + first, x.rows, count, x.stride};
}

Cuda::Buffer Cuda::Scale(Context& context, View x, float factor) {
  return OfShape(context, x, [&](auto from, auto to) { return cuda::Scale(from, factor, to, context.stream); });
}

Cuda::Buffer Cuda::Add(Context& context, View a, View b) {
  return OfShape(context, a,
                 [&](auto from, auto to) { return cuda::Add(from, cuda_ops::RowsOf(b), to, context.stream); });
}

Cuda::Buffer Cuda::AddBias(Context& context, View x, View bias) {
  return OfShape(context, x, [&](auto from, auto to) { return cuda::AddBias(from, bias.data, to, context.stream); });
}

Cuda::Buffer Cuda::ScaleColumns(Context& context, View x, View scales) {
  return OfShape(context, x,
                 [&](auto from, auto to) { return cuda::ScaleColumns(from, scales.data, to, context.stream); });
}

Cuda::Buffer Cuda::SoftCap(Context& context, View x, float cap) {
  return OfShape(context, x, [&](auto from, auto to) { return cuda::SoftCap(from, cap, to, context.stream); });
}

Cuda::Buffer Cuda::Gate(Context& context, View gate, View up, Activation activation) {
  return OfShape(context, gate, [&](auto from, auto to) {
    return cuda::Gate(from, cuda_ops::RowsOf(up), activation, to.data, context.stream);
  });
}

Cuda::Buffer Cuda::Activate(Context& context, View x, Activation activation) {
  return OfShape(context, x,
                 [&](auto from, auto to) { return cuda::Activate(from, activation, to.data, context.stream); });
}

}  // namespace inferflux::compute
