#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/pack.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr unsigned kElementThreads = 256;

// What is done with element x of column c, in row r.
struct ScaleBy {
  float factor;
  __device__ float operator()(float x, int64_t, int64_t) const { return x * factor; }
};
template <class T>
struct AddRows {
  Rows<const T> other;
  __device__ float operator()(float x, int64_t r, int64_t c) const {
    return x + AsFloat(other.data[r * other.stride + c]);
  }
};
struct AddColumns {
  const float* bias;
  __device__ float operator()(float x, int64_t, int64_t c) const { return x + bias[c]; }
};

// Blocks x are rows, of which there may be many, y share a row.
template <class T, class Change>
__global__ void ElementKernel(Rows<const T> x, Change change, T* y) {
  const int64_t row = BlockIndex().x;
  const int64_t column = int64_t{BlockIndex().y} * kElementThreads + ThreadIndex().x;
  if (column >= x.columns) return;
  y[row * x.columns + column] = FromFloat<T>(change(AsFloat(x.data[row * x.stride + column]), row, column));
}

template <class T, class Change>
Status LaunchElements(const Rows<const T>& x, const Change& change, T* y, Stream stream) {
  const auto blocks = static_cast<unsigned>((x.columns + kElementThreads - 1) / kElementThreads);
  return Launch(ElementKernel<T, Change>, {static_cast<unsigned>(x.rows), blocks}, {kElementThreads}, 0, stream, x,
                change, y);
}

}  // namespace

template <class T>
Status Scale(Rows<const T> x, float factor, T* y, Stream stream) {
  return LaunchElements(x, ScaleBy{factor}, y, stream);
}
template <class T>
Status Add(Rows<const T> a, Rows<const T> b, T* y, Stream stream) {
  return LaunchElements(a, AddRows<T>{b}, y, stream);
}
template <class T>
Status AddBias(Rows<const T> x, const float* bias, T* y, Stream stream) {
  return LaunchElements(x, AddColumns{bias}, y, stream);
}

template Status Scale(Rows<const float>, float, float*, Stream);
template Status Scale(Rows<const Fp16>, float, Fp16*, Stream);
template Status Scale(Rows<const Bf16>, float, Bf16*, Stream);
template Status Add(Rows<const float>, Rows<const float>, float*, Stream);
template Status Add(Rows<const Fp16>, Rows<const Fp16>, Fp16*, Stream);
template Status Add(Rows<const Bf16>, Rows<const Bf16>, Bf16*, Stream);
template Status AddBias(Rows<const float>, const float*, float*, Stream);
template Status AddBias(Rows<const Fp16>, const float*, Fp16*, Stream);
template Status AddBias(Rows<const Bf16>, const float*, Bf16*, Stream);

}  // namespace inferflux::cuda
