#include <cmath>

#include "compute/cuda/device/thread.h"
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
struct AddRows {
  Rows<const float> other;
  __device__ float operator()(float x, int64_t r, int64_t c) const { return x + other.data[r * other.stride + c]; }
};
struct TimesRows {
  Rows<const float> other;
  __device__ float operator()(float x, int64_t r, int64_t c) const { return x * other.data[r * other.stride + c]; }
};
struct AddToColumns {
  const float* bias;
  __device__ float operator()(float x, int64_t, int64_t c) const { return x + bias[c]; }
};
struct ScaleByColumn {
  const float* scales;
  __device__ float operator()(float x, int64_t, int64_t c) const { return x * scales[c]; }
};
struct ScaleByRow {
  const float* scales;
  __device__ float operator()(float x, int64_t r, int64_t) const { return x * scales[r]; }
};
struct CapSoftly {
  float cap;
  __device__ float operator()(float x, int64_t, int64_t) const { return cap * tanhf(x / cap); }
};
struct GateByRow {
  const float* logits;
  int64_t stride;
  __device__ float operator()(float x, int64_t r, int64_t) const {
    return x * (1.0f / (1.0f + expf(-logits[r * stride])));
  }
};

// Blocks x are rows, of which there may be many, y share a row.
template <class Change>
__global__ void ElementKernel(Rows<const float> x, Change change, Rows<float> y) {
  const int64_t row = BlockIndex().x;
  const int64_t column = int64_t{BlockIndex().y} * BlockSize().x + ThreadIndex().x;
  if (column >= x.columns) return;
  y.data[row * y.stride + column] = change(x.data[row * x.stride + column], row, column);
}

template <class Change>
Status LaunchElements(const Rows<const float>& x, const Change& change, const Rows<float>& y, Stream stream) {
  const auto blocks = static_cast<unsigned>((x.columns + kElementThreads - 1) / kElementThreads);
  return Launch(ElementKernel<Change>, {static_cast<unsigned>(x.rows), blocks}, {kElementThreads}, 0, stream, x, change,
                y);
}

}  // namespace

Status Scale(Rows<const float> x, float factor, Rows<float> y, Stream stream) {
  return LaunchElements(x, ScaleBy{factor}, y, stream);
}
Status Add(Rows<const float> a, Rows<const float> b, Rows<float> y, Stream stream) {
  return LaunchElements(a, AddRows{b}, y, stream);
}
Status Multiply(Rows<const float> a, Rows<const float> b, Rows<float> y, Stream stream) {
  return LaunchElements(a, TimesRows{b}, y, stream);
}
Status AddBias(Rows<const float> x, const float* bias, Rows<float> y, Stream stream) {
  return LaunchElements(x, AddToColumns{bias}, y, stream);
}
Status ScaleColumns(Rows<const float> x, const float* scales, Rows<float> y, Stream stream) {
  return LaunchElements(x, ScaleByColumn{scales}, y, stream);
}
Status ScaleRows(Rows<const float> x, const float* scales, Rows<float> y, Stream stream) {
  return LaunchElements(x, ScaleByRow{scales}, y, stream);
}
Status SoftCap(Rows<const float> x, float cap, Rows<float> y, Stream stream) {
  return LaunchElements(x, CapSoftly{cap}, y, stream);
}
Status GateRows(Rows<const float> x, const float* logits, int64_t logit_stride, Rows<float> y, Stream stream) {
  return LaunchElements(x, GateByRow{logits, logit_stride}, y, stream);
}

}  // namespace inferflux::cuda
