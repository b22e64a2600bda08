#include <cmath>

#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// A block normalises one run of columns of one row: blocks x are rows, of which there may be many, y runs.
template <int kPack>
__global__ void RmsNormKernel(RmsNormParams params) {
  using Values = Pack<float, kPack>;
  const int64_t first = int64_t{BlockIndex().y} * params.width;
  const int64_t row = BlockIndex().x;
  const auto* x = reinterpret_cast<const Values*>(params.x.data + row * params.x.stride + first);
  auto* y = reinterpret_cast<Values*>(params.y + row * params.x.columns + first);
  const auto* weight = reinterpret_cast<const Values*>(params.weight);
  const int packs = static_cast<int>(params.width / kPack);
  const int threads = static_cast<int>(BlockSize().x);
  const int thread = static_cast<int>(ThreadIndex().x);

  float squares = 0.0f;
  for (int p = thread; p < packs; p += threads) {
    const Values values = x[p];
    for (int i = 0; i < kPack; ++i) squares = fmaf(values.x[i], values.x[i], squares);
  }
  squares = BlockSum(squares, SharedMemory<float>());
  const float inverse = 1.0f / sqrtf(squares / static_cast<float>(params.width) + params.epsilon);

  for (int p = thread; p < packs; p += threads) {
    const Values values = x[p];
    const Values weights = weight[p];
    Values out;
    for (int i = 0; i < kPack; ++i) out.x[i] = values.x[i] * inverse * weights.x[i];
    y[p] = out;
  }
}

}  // namespace

Status RmsNorm(const RmsNormParams& params, Stream stream) {
  const auto runs = static_cast<unsigned>(params.x.columns / params.width);
  const auto rows = static_cast<unsigned>(params.x.rows);
  if (Packs<float>(4, params.width, {params.x.stride}, {params.x.data, params.weight, params.y})) {
    return Launch(RmsNormKernel<4>, {rows, runs}, {RowThreads(params.width / 4)}, kReduceBytes, stream, params);
  }
  return Launch(RmsNormKernel<1>, {rows, runs}, {RowThreads(params.width)}, kReduceBytes, stream, params);
}

}  // namespace inferflux::cuda
