#include "compute/cuda/kernels/narrow.h"

#include <cmath>

#include "compute/cuda/device/half.h"
#include "compute/cuda/kernels/block_reduce.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// The exponent of a float, within what has an inverse; 0 of what is no finite number.
__device__ inline int ExponentOf(float value) {
  const int exponent = static_cast<int>(FloatBits(value) >> 23 & 0xff) - 127;
  if (exponent == 128) return 0;
  return exponent < -120 ? -120 : exponent > 120 ? 120 : exponent;
}

__device__ inline float PowerOfTwo(int exponent) { return FloatOfBits(static_cast<uint32_t>(exponent + 127) << 23); }

// A block converts one row.
template <class T>
__global__ void NarrowKernel(Rows<const float> x, int64_t y_columns, T* y, float* scales) {
  const int64_t row = BlockIndex().x;
  const float* from = x.data + row * x.stride;
  float inverse = 1.0f;
  if (scales != nullptr) {
    float largest = 0.0f;
    for (int64_t c = ThreadIndex().x; c < x.columns; c += BlockSize().x) largest = fmaxf(largest, fabsf(from[c]));
    const int exponent = ExponentOf(BlockMax(largest, SharedMemory<float>()));
    inverse = PowerOfTwo(-exponent);
    if (ThreadIndex().x == 0) scales[row] = PowerOfTwo(exponent);
  }
  for (int64_t c = ThreadIndex().x; c < y_columns; c += BlockSize().x) {
    y[row * y_columns + c] = FromFloat<T>(c < x.columns ? from[c] * inverse : 0.0f);
  }
}

}  // namespace

template <class T>
Status Narrow(Rows<const float> x, int64_t y_columns, T* y, float* scales, Stream stream) {
  return Launch(NarrowKernel<T>, {static_cast<unsigned>(x.rows)}, {RowThreads(y_columns)}, kReduceBytes, stream, x,
                y_columns, y, scales);
}

template Status Narrow(Rows<const float>, int64_t, Fp16*, float*, Stream);
template Status Narrow(Rows<const float>, int64_t, Bf16*, float*, Stream);

}  // namespace inferflux::cuda
