#include "compute/cuda/kernels/streams.h"

#include <cmath>

#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/launch.h"
#include "compute/params.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kMixThreads = 256;

// Blocks x are rows, y share a row.
__global__ void MixKernel(Rows<const float> x, Rows<const float> factors, int inputs, Rows<float> y) {
  const int64_t row = BlockIndex().x;
  const int64_t column = int64_t{BlockIndex().y} * BlockSize().x + ThreadIndex().x;
  if (column >= y.columns) return;
  const int64_t width = x.columns / inputs;
  const int64_t output = column / width;
  const float* factor = factors.data + (factors.rows == 1 ? 0 : row) * factors.stride + output * inputs;
  const float* from = x.data + row * x.stride + column % width;
  float sum = 0.0f;
  for (int i = 0; i < inputs; ++i) sum = fmaf(factor[i], from[i * width], sum);
  y.data[row * y.stride + column] = sum;
}

__device__ inline float MeanSquare(const float* x, int64_t n, float* shared) {
  float squares = 0.0f;
  for (int64_t c = ThreadIndex().x; c < n; c += BlockSize().x) squares = fmaf(x[c], x[c], squares);
  return BlockSum(squares, shared) / static_cast<float>(n);
}

// Blocks x are rows, y streams.
__global__ void MatchKernel(Rows<const float> x, Rows<const float> like, Rows<float> y) {
  const int64_t row = BlockIndex().x;
  const int64_t first = int64_t{BlockIndex().y} * like.columns;
  const float wanted = MeanSquare(like.data + row * like.stride, like.columns, SharedMemory<float>());
  SyncThreads();  // the shared memory is used again
  const float* from = x.data + row * x.stride + first;
  const float own = MeanSquare(from, like.columns, SharedMemory<float>());
  const float factor = sqrtf(wanted / fmaxf(own, compute::kLeastMeanSquare));
  for (int64_t c = ThreadIndex().x; c < like.columns; c += BlockSize().x) {
    y.data[row * y.stride + first + c] = from[c] * factor;
  }
}

// Blocks are rows.
__global__ void CutKernel(Rows<const float> x, float deviations, Rows<float> y) {
  const int64_t row = BlockIndex().x;
  const float* from = x.data + row * x.stride;
  const auto n = static_cast<float>(x.columns);
  float sum = 0.0f, squares = 0.0f;
  for (int64_t c = ThreadIndex().x; c < x.columns; c += BlockSize().x) sum += from[c];
  const float mean = BlockSum(sum, SharedMemory<float>()) / n;
  SyncThreads();  // the shared memory is used again
  for (int64_t c = ThreadIndex().x; c < x.columns; c += BlockSize().x) {
    squares = fmaf(from[c] - mean, from[c] - mean, squares);
  }
  const float cut = mean + deviations * sqrtf(BlockSum(squares, SharedMemory<float>()) / n);
  for (int64_t c = ThreadIndex().x; c < x.columns; c += BlockSize().x) {
    y.data[row * y.stride + c] = fmaxf(from[c] - cut, 0.0f);
  }
}

}  // namespace

Status MixStreams(Rows<const float> x, Rows<const float> factors, int32_t inputs, Rows<float> y, Stream stream) {
  const auto blocks = static_cast<unsigned>((y.columns + kMixThreads - 1) / kMixThreads);
  return Launch(MixKernel, {static_cast<unsigned>(x.rows), blocks}, {kMixThreads}, 0, stream, x, factors, inputs, y);
}

Status MatchMagnitudes(Rows<const float> x, Rows<const float> like, Rows<float> y, Stream stream) {
  const auto streams = static_cast<unsigned>(x.columns / like.columns);
  return Launch(MatchKernel, {static_cast<unsigned>(x.rows), streams}, {RowThreads(like.columns)}, kReduceBytes, stream,
                x, like, y);
}

Status CutRows(Rows<const float> x, float deviations, Rows<float> y, Stream stream) {
  return Launch(CutKernel, {static_cast<unsigned>(x.rows)}, {RowThreads(x.columns)}, kReduceBytes, stream, x,
                deviations, y);
}

}  // namespace inferflux::cuda
