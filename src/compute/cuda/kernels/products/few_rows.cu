#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/products/products.h"
#include "compute/cuda/kernels/products/weight_rows.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kWarps = 4;  // of a block, each with an output of its own

// Where the rows of a block's y come from.
struct Lines {
  const int32_t* experts = nullptr;  // [lines], or null: there is one matrix
  int32_t per_row = 1;
};

template <class R, int kRows>
__device__ inline void MultiplyGroup(const uint8_t* weights, int64_t columns, int64_t group, const Rows<const float>& x,
                                     int64_t row, float (&sums)[kRows]) {
  float values[kGroup];
  R::Unpack(weights, columns, group, values);
  const int64_t first = group * kGroup;
  const int count = columns - first < kGroup ? static_cast<int>(columns - first) : kGroup;
  for (int r = 0; r < kRows; ++r) {
    const float* from = x.data + (row + r) * x.stride + first;
    float sum = sums[r];
    // Every index is known when this is compiled, so that the values stay in registers.
    if (count == kGroup) {
      for (int i = 0; i < kGroup; ++i) sum = fmaf(values[i], from[i], sum);
    } else {
      for (int i = 0; i < kGroup; ++i) sum = fmaf(values[i], i < count ? from[i] : 0.0f, sum);
    }
    sums[r] = sum;
  }
}

// Blocks x are outputs, y are runs of kRows rows, z heads. A warp's lanes take every 32nd group of its output's
// weights.
template <class R, int kRows>
__global__ void __launch_bounds__(kWarps* kWarpSize)
    FewRowsKernel(Rows<const float> x, Lines lines, Heads heads, WeightMatrix w, Rows<float> y) {
  const int64_t head = BlockIndex().z;
  x.data += head * heads.x_columns;
  y.data += head * heads.y_columns;
  const int64_t output = int64_t{BlockIndex().x} * kWarps + Warp();
  if (output >= w.rows) return;
  const int64_t row = int64_t{BlockIndex().y} * kRows;
  int64_t weight_row = head * w.rows + output;
  int64_t source = row;
  if (lines.experts != nullptr) {
    weight_row += int64_t{lines.experts[row]} * w.rows;
    source = row / lines.per_row;
  }
  const uint8_t* weights = w.data + weight_row * w.row_bytes;
  const int64_t groups = (w.columns + kGroup - 1) / kGroup;
  float sums[kRows] = {};
  for (int64_t group = Lane(); group < groups; group += kWarpSize) {
    MultiplyGroup<R, kRows>(weights, w.columns, group, x, source, sums);
  }
  for (int r = 0; r < kRows; ++r) {
    const float sum = WarpSum(sums[r]);
    if (Lane() == 0) y.data[(row + r) * y.stride + output] = sum;
  }
}

template <class R, int kRows>
Status LaunchFewRows(const Rows<const float>& x, const Lines& lines, const Heads& heads, const WeightMatrix& w,
                     const Rows<float>& y, Stream stream) {
  const auto blocks = static_cast<unsigned>((w.rows + kWarps - 1) / kWarps);
  return Launch(FewRowsKernel<R, kRows>,
                {blocks, static_cast<unsigned>(y.rows / kRows), static_cast<unsigned>(heads.count)},
                {kWarps * kWarpSize}, 0, stream, x, lines, heads, w, y);
}

// The rows from `first` on.
template <class T>
Rows<T> From(const Rows<T>& x, int64_t first) {
  return {x.data + first * x.stride, x.rows - first, x.columns, x.stride};
}

template <class R>
Status MultiplyRows(const Rows<const float>& x, const Heads& heads, const WeightMatrix& w, const Rows<float>& y,
                    Stream stream) {
  const int64_t whole = y.rows / kRowsAtOnce * kRowsAtOnce;
  if (whole > 0) {
    Rows<float> first = y;
    first.rows = whole;
    if (auto launched = LaunchFewRows<R, kRowsAtOnce>(x, {}, heads, w, first, stream); !launched) return launched;
  }
  if (y.rows == whole) return {};
  return LaunchFewRows<R, 1>(From(x, whole), {}, heads, w, From(y, whole), stream);
}

tl::unexpected<Error> NoKernel(const WeightMatrix& w) {
  return Fail(ErrorCode::kUnsupported, "no kernel multiplies {}", formats::TensorTypeName(w.type));
}

}  // namespace

Status MultiplyFewRows(Rows<const float> x, const WeightMatrix& w, Rows<float> y, Stream stream) {
  return MultiplyHeads(x, {}, w, y, stream);
}

Status MultiplyHeads(Rows<const float> x, const Heads& heads, const WeightMatrix& w, Rows<float> y, Stream stream) {
  Status out;
  const bool known = WithWeightRows(w.type, [&]<class R>() { out = MultiplyRows<R>(x, heads, w, y, stream); });
  if (!known) return NoKernel(w);
  return out;
}

Status MultiplyLines(Rows<const float> x, int32_t lines_per_row, const int32_t* experts, const WeightMatrix& w,
                     Rows<float> y, Stream stream) {
  Status out;
  const bool known = WithWeightRows(w.type, [&]<class R>() {
    out = LaunchFewRows<R, 1>(x, {experts, lines_per_row}, {}, w, y, stream);
  });
  if (!known) return NoKernel(w);
  return out;
}

}  // namespace inferflux::cuda
