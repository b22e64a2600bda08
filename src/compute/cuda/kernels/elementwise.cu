#include <cmath>

#include "compute/cuda/device/launch_order.h"
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

// Blocks x are rows, of which there may be many, y share a row; a thread changes a pack of elements.
template <int kPack, class Change>
__global__ void ElementKernel(Rows<const float> x, Change change, Rows<float> y) {
  WaitForKernelsBefore();
  using Values = Pack<float, kPack>;
  const int64_t row = BlockIndex().x;
  const int64_t pack = int64_t{BlockIndex().y} * BlockSize().x + ThreadIndex().x;
  if (pack >= x.columns / kPack) return;
  Values values = reinterpret_cast<const Values*>(x.data + row * x.stride)[pack];
  for (int i = 0; i < kPack; ++i) values.x[i] = change(values.x[i], row, pack * kPack + i);
  reinterpret_cast<Values*>(y.data + row * y.stride)[pack] = values;
}

template <class Change>
Status LaunchElements(const Rows<const float>& x, const Change& change, const Rows<float>& y, Stream stream) {
  constexpr int kPack = kWidest<float>;
  const auto blocks = [&](int64_t packs) {
    return static_cast<unsigned>((packs + kElementThreads - 1) / kElementThreads);
  };
  const auto rows = static_cast<unsigned>(x.rows);
  if (Packs<float>(kPack, x.columns, {x.stride, y.stride}, {x.data, y.data})) {
    return LaunchEarly(ElementKernel<kPack, Change>, {rows, blocks(x.columns / kPack)}, {kElementThreads}, 0, stream, x,
                       change, y);
  }
  return LaunchEarly(ElementKernel<1, Change>, {rows, blocks(x.columns)}, {kElementThreads}, 0, stream, x, change, y);
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
