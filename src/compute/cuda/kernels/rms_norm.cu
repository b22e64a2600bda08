#include <cmath>

#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

template <int kPack>
using Floats = Pack<float, kPack>;

// The thread's share of y = x * inverse * weight.
template <int kPack>
__device__ inline void ScaleRun(const Floats<kPack>* x, const Floats<kPack>* weight, float inverse, int packs,
                                Floats<kPack>* y) {
  for (int p = static_cast<int>(ThreadIndex().x); p < packs; p += static_cast<int>(BlockSize().x)) {
    const Floats<kPack> values = x[p];
    const Floats<kPack> weights = weight[p];
    Floats<kPack> out;
    for (int i = 0; i < kPack; ++i) out.x[i] = values.x[i] * inverse * weights.x[i];
    y[p] = out;
  }
}

// A block normalises one run of columns of one row: blocks x are rows, of which there may be many, y runs.
template <int kPack>
__global__ void RmsNormKernel(RmsNormParams params) {
  using Values = Floats<kPack>;
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
  ScaleRun<kPack>(x, weight, inverse, packs, y);
}

// A block adds one row and normalises it. The sums of squares are in the order of RmsNormKernel.
template <int kPack>
__global__ void AddRmsNormKernel(AddRmsNormParams params) {
  using Values = Floats<kPack>;
  const int64_t row = BlockIndex().x;
  const auto* a = reinterpret_cast<const Values*>(params.a.data + row * params.a.stride);
  const auto* b = reinterpret_cast<const Values*>(params.b.data + row * params.b.stride);
  auto* sum = reinterpret_cast<Values*>(params.sum + row * params.a.columns);
  const int packs = static_cast<int>(params.a.columns / kPack);

  float squares = 0.0f;
  for (int p = static_cast<int>(ThreadIndex().x); p < packs; p += static_cast<int>(BlockSize().x)) {
    Values values = a[p];
    const Values added = b[p];
    for (int i = 0; i < kPack; ++i) {
      values.x[i] += added.x[i];
      squares = fmaf(values.x[i], values.x[i], squares);
    }
    sum[p] = values;  // which this thread reads again
  }
  squares = BlockSum(squares, SharedMemory<float>());
  const float inverse = 1.0f / sqrtf(squares / static_cast<float>(params.a.columns) + params.epsilon);
  ScaleRun<kPack>(sum, reinterpret_cast<const Values*>(params.weight), inverse, packs,
                  reinterpret_cast<Values*>(params.y + row * params.a.columns));
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

Status AddRmsNorm(const AddRmsNormParams& params, Stream stream) {
  const int64_t columns = params.a.columns;
  const auto rows = static_cast<unsigned>(params.a.rows);
  const bool packed = Packs<float>(4, columns, {}, {params.weight, params.sum, params.y});
  const bool loads = Packs<float>(4, columns, {params.a.stride, params.b.stride}, {params.a.data, params.b.data});
  if (packed && loads) {
    return Launch(AddRmsNormKernel<4>, {rows}, {RowThreads(columns / 4)}, kReduceBytes, stream, params);
  }
  if (!packed) return Launch(AddRmsNormKernel<1>, {rows}, {RowThreads(columns)}, kReduceBytes, stream, params);
  // The norm would add in packs, and the rows cannot be loaded so: in one kernel the last bits would be others.
  auto added = Add(params.a, params.b, {params.sum, params.a.rows, columns, columns}, stream);
  if (!added) return added;
  return RmsNorm({.x = {params.sum, params.a.rows, columns, columns},
                  .weight = params.weight,
                  .width = columns,
                  .epsilon = params.epsilon,
                  .y = params.y},
                 stream);
}

}  // namespace inferflux::cuda
