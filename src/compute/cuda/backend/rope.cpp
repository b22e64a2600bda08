#include "compute/cuda/backend/operation.h"
#include "compute/cuda/kernels/row_ops.h"

namespace inferflux::compute {

Cuda::Buffer Cuda::RopeAngles(Context& context, const Batch& batch, const RopeSpec& spec) {
  const auto pairs = static_cast<int32_t>(spec.inverse_frequencies.size());
  Buffer out = cuda_ops::New(context, batch.geometry.rows(), 2 * int64_t{pairs});
  if (!out.memory) return out;
  const auto frequencies = cuda_ops::Upload<float>(context, spec.inverse_frequencies);
  cuda_ops::Must(cuda::RopeAngles(batch.arrays.positions, out.rows, static_cast<const float*>(frequencies.get()), pairs,
                                  spec.magnitude, out.data(), context.stream));
  return out;
}

Cuda::Buffer Cuda::Rope(Context& context, View x, View angles, const RopeParams& params) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::Rope(from, angles.data, static_cast<int32_t>(angles.cols / 2), params, to.data, context.stream);
  });
}

}  // namespace inferflux::compute
