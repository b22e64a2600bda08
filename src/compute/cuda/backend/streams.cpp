#include "compute/cuda/kernels/streams.h"

#include "compute/cuda/backend/operation.h"

namespace inferflux::compute {

Cuda::Buffer Cuda::MixStreams(Context& context, View x, View factors, int32_t inputs) {
  Buffer out = cuda_ops::New(context, x.rows, factors.cols / inputs * (x.cols / inputs));
  if (!out.memory) return out;
  cuda_ops::Must(
      cuda::MixStreams(cuda_ops::RowsOf(x), cuda_ops::RowsOf(factors), inputs, cuda_ops::RowsOf(out), context.stream));
  return out;
}

Cuda::Buffer Cuda::MatchMagnitudes(Context& context, View x, View like) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::MatchMagnitudes(from, cuda_ops::RowsOf(like), to, context.stream);
  });
}

Cuda::Buffer Cuda::CutRows(Context& context, View x, float deviations) {
  return cuda_ops::OfShape(context, x,
                           [&](auto from, auto to) { return cuda::CutRows(from, deviations, to, context.stream); });
}

}  // namespace inferflux::compute
