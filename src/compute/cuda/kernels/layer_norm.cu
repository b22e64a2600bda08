#include <cmath>

#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// A block normalises one row: first its mean, then its variance around that.
__global__ void LayerNormKernel(Rows<const float> x, const float* weight, const float* bias, float epsilon, float* y) {
  const int64_t row = BlockIndex().x;
  const float* from = x.data + row * x.stride;
  const auto width = static_cast<float>(x.columns);
  auto* shared = SharedMemory<float>();

  float sum = 0.0f;
  for (int64_t c = ThreadIndex().x; c < x.columns; c += BlockSize().x) sum += from[c];
  const float mean = BlockSum(sum, shared) / width;
  float squares = 0.0f;
  for (int64_t c = ThreadIndex().x; c < x.columns; c += BlockSize().x) {
    squares = fmaf(from[c] - mean, from[c] - mean, squares);
  }
  const float inverse = 1.0f / sqrtf(BlockSum(squares, shared + kWarpSize) / width + epsilon);
  for (int64_t c = ThreadIndex().x; c < x.columns; c += BlockSize().x) {
    y[row * x.columns + c] = (from[c] - mean) * inverse * weight[c] + bias[c];
  }
}

}  // namespace

Status LayerNorm(Rows<const float> x, const float* weight, const float* bias, float epsilon, float* y, Stream stream) {
  return Launch(LayerNormKernel, {static_cast<unsigned>(x.rows)}, {RowThreads(x.columns)}, 2 * kReduceBytes, stream, x,
                weight, bias, epsilon, y);
}

}  // namespace inferflux::cuda
