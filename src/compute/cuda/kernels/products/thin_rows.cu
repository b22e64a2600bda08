#include <algorithm>
#include <concepts>

#include "compute/cuda/device/half.h"
#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/device/mma.h"
#include "compute/cuda/device/prefetch.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/thread.h"
#include "compute/cuda/kernels/products/lane_shares.h"
#include "compute/cuda/kernels/products/products.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// A block's warps share the columns of 16 outputs, each of which is a row of the tensor cores' left matrix; rows of x
// are columns of the right one. Weights go from memory into fragments, without shared memory: which column of a product
// is which number is the lane's own business, as long as it takes the inputs in the same order.
constexpr int kThinWarps = 8;  // at most
constexpr int kThinOutputs = 16;
template <int kRowTiles>
constexpr int kThinElements = 8 * kRowTiles* kThinOutputs;  // of a block's result
// The lane's share of a row of weights in the elements of tensor cores, two in each word; zeros beyond the row.
template <class R>
__device__ inline void ExpandWeights(const uint8_t* row, int64_t columns, int64_t share, bool present,
                                     uint32_t (&out)[LaneShare<R>::kRuns * LaneShare<R>::kRun / 2]) {
  using Share = LaneShare<R>;
  constexpr int kValues = Share::kRuns * Share::kRun;
  float values[kValues] = {};
  if (present) Share::Expand(Share::Load(row, columns, share), values);
#pragma unroll
  for (int i = 0; i < kValues / 2; ++i) out[i] = TwoFromFloats<typename R::Element>(values[2 * i], values[2 * i + 1]);
}

// The inputs of the same columns.
template <class Share, class T>
__device__ inline void LoadNarrowInputs(const T* row, int64_t share, bool present,
                                        uint32_t (&out)[Share::kRuns * Share::kRun / 2]) {
#pragma unroll
  for (int run = 0; run < Share::kRuns; ++run) {
#pragma unroll
    for (int p = 0; p < Share::kRun / 8; ++p) {
      Pack<uint32_t, 4> eight = {};
      if (present) eight = *reinterpret_cast<const Pack<uint32_t, 4>*>(row + Share::First(share, run) + 8 * p);
#pragma unroll
      for (int i = 0; i < 4; ++i) out[(run * Share::kRun + 8 * p) / 2 + i] = eight.x[i];
    }
  }
}

// Blocks x are runs of outputs; there are kRowTiles tiles of 8 rows.
template <class R, int kRowTiles>
__global__ void __launch_bounds__(kThinWarps* kWarpSize)
    ThinKernel(Rows<const typename R::Element> x, const float* row_scales, WeightMatrix w, Rows<float> y) {
  using T = typename R::Element;
  using Share = LaneShare<R>;
  constexpr int kWords = Share::kRuns * Share::kRun / 2;
  const int64_t output = int64_t{BlockIndex().x} * kThinOutputs;
  const int group = Lane() / 4;  // the lane's row of a left matrix, and its column of a right one
  const auto row_of = [&](int64_t row) { return w.data + (row < w.rows ? row : w.rows - 1) * w.row_bytes; };
  const uint8_t* upper_row = row_of(output + group);
  const uint8_t* lower_row = row_of(output + group + 8);

  const int warps = static_cast<int>(BlockSize().x) / kWarpSize;
  const auto shares = static_cast<int>(Share::Count(w.columns));
  const int ahead = Warp() * 4 + Lane() % 4;
  if (ahead < shares) {  // no kernel before writes weights
    Prefetch(Share::At(upper_row, w.columns, ahead));
    Prefetch(Share::At(lower_row, w.columns, ahead));
  }
  WaitForKernelsBefore();
  FragmentC<float> sums[kRowTiles] = {};
  for (int first = Warp() * 4; first < shares; first += warps * 4) {
    const int share = first + Lane() % 4;
    const bool present = share < shares;
    uint32_t upper[kWords], lower[kWords];
    ExpandWeights<R>(upper_row, w.columns, share, present, upper);
    ExpandWeights<R>(lower_row, w.columns, share, present, lower);
#pragma unroll
    for (int n = 0; n < kRowTiles; ++n) {
      const int row = n * 8 + group;
      uint32_t inputs[kWords];
      LoadNarrowInputs<Share>(x.data + row * x.stride, share, present && row < x.rows, inputs);
#pragma unroll
      for (int i = 0; i < kWords; i += 2) {
        MatMulAdd<T>(sums[n], FragmentA{{upper[i], lower[i], upper[i + 1], lower[i + 1]}},
                     FragmentB{{inputs[i], inputs[i + 1]}});
      }
    }
  }

  float* shared =
      SharedMemory<float>() + Warp() * kThinElements<kRowTiles>;  // of each warp [8 * kRowTiles, kThinOutputs]
#pragma unroll
  for (int n = 0; n < kRowTiles; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      shared[(n * 8 + Lane() % 4 * 2 + e % 2) * kThinOutputs + group + e / 2 * 8] = sums[n].x[e];
    }
  }
  SyncThreads();
  for (int i = static_cast<int>(ThreadIndex().x); i < kThinElements<kRowTiles>; i += static_cast<int>(BlockSize().x)) {
    const int row = i / kThinOutputs;
    const int64_t column = output + i % kThinOutputs;
    if (row >= y.rows || column >= w.rows) continue;
    float sum = 0.0f;
    for (int warp = 0; warp < warps; ++warp) sum += SharedMemory<float>()[warp * kThinElements<kRowTiles> + i];
    y.data[row * y.stride + column] = row_scales != nullptr ? sum * row_scales[row] : sum;
  }
}

template <class R, int kRowTiles>
Status LaunchThin(const Rows<const typename R::Element>& x, const float* row_scales, const WeightMatrix& w,
                  const Rows<float>& y, Stream stream) {
  if constexpr (kRowTiles > 1) {
    if (x.rows <= 4 * kRowTiles) return LaunchThin<R, kRowTiles / 2>(x, row_scales, w, y, stream);
  }
  const auto blocks = static_cast<unsigned>((w.rows + kThinOutputs - 1) / kThinOutputs);
  const int64_t warps = std::min<int64_t>(kThinWarps, (LaneShare<R>::Count(w.columns) + 3) / 4);
  const auto bytes = static_cast<size_t>(warps) * kThinElements<kRowTiles> * sizeof(float);
  return LaunchEarly(ThinKernel<R, kRowTiles>, {blocks}, {static_cast<unsigned>(warps * kWarpSize)}, bytes, stream, x,
                     row_scales, w, y);
}

template <class T>
Status MultiplyThinOf(const Rows<const T>& x, const float* row_scales, const WeightMatrix& w, const Rows<float>& y,
                      Stream stream) {
  const bool aligned = reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.stride % 8 == 0;
  if (!aligned || x.columns != RoundUp(w.columns, kGroup) || x.rows > kThinRows) {
    return Fail(ErrorCode::kInvalidArgument,
                "a product of {} rows over {} and {} inputs; there may be {} rows, which have to begin at multiples of "
                "16 bytes, and to be padded to multiples of {} inputs",
                x.rows, x.columns, w.columns, kThinRows, kGroup);
  }
  Status out;
  const bool known = WithWeightRows(w.type, [&]<class R>() {
    constexpr bool kDense = std::same_as<R, F32Rows> || std::same_as<R, F16Rows> || std::same_as<R, Bf16Rows>;
    if constexpr (!kDense && std::same_as<typename R::Element, T>) {
      out = LaunchThin<R, static_cast<int>(kThinRows / 8)>(x, row_scales, w, y, stream);
    } else {
      out = Fail(ErrorCode::kInvalidArgument,
                 "a product of few rows with {} by tensor cores, or with activations of "
                 "another type",
                 formats::TensorTypeName(w.type));
    }
  });
  if (!known) return Fail(ErrorCode::kUnsupported, "no kernel multiplies {}", formats::TensorTypeName(w.type));
  return out;
}

}  // namespace

Status MultiplyThin(Rows<const Fp16> x, const float* row_scales, const WeightMatrix& w, Rows<float> y, Stream stream) {
  return MultiplyThinOf(x, row_scales, w, y, stream);
}
Status MultiplyThin(Rows<const Bf16> x, const float* row_scales, const WeightMatrix& w, Rows<float> y, Stream stream) {
  return MultiplyThinOf(x, row_scales, w, y, stream);
}

}  // namespace inferflux::cuda
