#include <algorithm>

#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/device/prefetch.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/products/lane_shares.h"
#include "compute/cuda/kernels/products/one_row.h"
#include "compute/cuda/kernels/products/products.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kWarps = 4;  // of a block at most, which share the columns

// Where the rows of a block's y come from.
struct Lines {
  const int32_t* experts = nullptr;  // [lines], or null: there is one matrix
  int32_t per_row = 1;
};

// Outputs of a block: several where there is one row, so that its inputs are loaded once for all of them.
template <int kRows>
constexpr int kOutputs = kRows == 1 ? 4 : 2;

// Blocks x are runs of kOutputs outputs, y are runs of kRows rows, z heads. All lanes of a block share the columns. The
// order of a sum does not depend on kRows or kOutputs. `packed`: rows of x begin at multiples of 16 bytes.
template <class R, int kRows>
__global__ void __launch_bounds__(kWarps* kWarpSize)
    FewRowsKernel(Rows<const float> x, bool packed, Lines lines, Heads heads, WeightMatrix w, Rows<float> y) {
  using Share = LaneShare<R>;
  const int64_t head = BlockIndex().z;
  x.data += head * heads.x_columns;
  y.data += head * heads.y_columns;
  const int64_t output = int64_t{BlockIndex().x} * kOutputs<kRows>;
  const int64_t row = int64_t{BlockIndex().y} * kRows;
  if (lines.experts != nullptr) WaitForKernelsBefore();  // for the experts of this step
  int64_t weight_row = head * w.rows + output;
  int64_t source = row;
  if (lines.experts != nullptr) {
    weight_row += int64_t{lines.experts[row]} * w.rows;
    source = row / lines.per_row;
  }
  const float* inputs = x.data + source * x.stride;
  const uint8_t* weights[kOutputs<kRows>];
  for (int o = 0; o < kOutputs<kRows>; ++o) {
    const int64_t beyond = output + o < w.rows ? o : 0;  // the last block may have fewer outputs
    weights[o] = w.data + (weight_row + beyond) * w.row_bytes;
  }

  const int64_t shares = Share::Count(w.columns);
  if (lines.experts == nullptr) {
    if (ThreadIndex().x < shares) {  // no kernel before writes weights
      for (int o = 0; o < kOutputs<kRows>; ++o) Prefetch(Share::At(weights[o], w.columns, ThreadIndex().x));
    }
    WaitForKernelsBefore();
  }
  float sums[kOutputs<kRows>][kRows] = {};
  for (int64_t share = ThreadIndex().x; share < shares; share += BlockSize().x) {
    typename Share::Values values[kOutputs<kRows>];
    for (int o = 0; o < kOutputs<kRows>; ++o) values[o] = Share::Load(weights[o], w.columns, share);
    for (int r = 0; r < kRows; ++r) {
      float of_row[Share::kRuns * Share::kRun];
      LoadInputs<Share>(inputs + r * x.stride, w.columns, share, packed, of_row);
      for (int o = 0; o < kOutputs<kRows>; ++o) sums[o][r] += Share::Dot(values[o], of_row);
    }
  }

  constexpr int kSums = kOutputs<kRows> * kRows;
  const int warps = static_cast<int>(BlockSize().x) / kWarpSize;
  float* shared = SharedMemory<float>();  // [warps, kSums]
  for (int o = 0; o < kOutputs<kRows>; ++o) {
    for (int r = 0; r < kRows; ++r) {
      const float sum = WarpSum(sums[o][r]);
      if (Lane() == 0) shared[Warp() * kSums + o * kRows + r] = sum;
    }
  }
  SyncThreads();
  const int mine = static_cast<int>(ThreadIndex().x);
  if (mine >= kSums || output + mine / kRows >= w.rows) return;
  float total = 0.0f;
  for (int warp = 0; warp < warps; ++warp) total += shared[warp * kSums + mine];
  y.data[(row + mine % kRows) * y.stride + output + mine / kRows] = total;
}

template <class R, int kRows>
Status LaunchFewRows(const Rows<const float>& x, const Lines& lines, const Heads& heads, const WeightMatrix& w,
                     const Rows<float>& y, Stream stream) {
  const auto blocks = static_cast<unsigned>((w.rows + kOutputs<kRows> - 1) / kOutputs<kRows>);
  const bool packed = Packs<float>(4, 0, {x.stride, heads.x_columns}, {x.data});
  const int64_t warps = std::min<int64_t>(kWarps, (LaneShare<R>::Count(w.columns) + kWarpSize - 1) / kWarpSize);
  return LaunchEarly(
      FewRowsKernel<R, kRows>, {blocks, static_cast<unsigned>(y.rows / kRows), static_cast<unsigned>(heads.count)},
      {static_cast<unsigned>(warps * kWarpSize)}, static_cast<size_t>(warps) * kOutputs<kRows> * kRows * sizeof(float),
      stream, x, packed, lines, heads, w, y);
}

// The rows from `first` on.
template <class T>
Rows<T> From(const Rows<T>& x, int64_t first) {
  return {x.data + first * x.stride, x.rows - first, x.columns, x.stride};
}

// Of `y`, as many rows at a time as there is a kernel for.
template <class R, int kRows>
Status MultiplyRows(const Rows<const float>& x, const Heads& heads, const WeightMatrix& w, const Rows<float>& y,
                    Stream stream) {
  Rows<float> whole = y;
  whole.rows = y.rows / kRows * kRows;
  if (whole.rows > 0) {
    if (auto launched = LaunchFewRows<R, kRows>(x, {}, heads, w, whole, stream); !launched) return launched;
  }
  if constexpr (kRows > 1) {
    if (y.rows > whole.rows) {
      return MultiplyRows<R, kRows / 2>(From(x, whole.rows), heads, w, From(y, whole.rows), stream);
    }
  }
  return {};
}

tl::unexpected<Error> NoKernel(const WeightMatrix& w) {
  return Fail(ErrorCode::kUnsupported, "no kernel multiplies {}", formats::TensorTypeName(w.type));
}

}  // namespace

Status MultiplyFewRows(Rows<const float> x, const WeightMatrix& w, Rows<float> y, Stream stream) {
  if (y.rows == 1 && TakesOneRow(w)) return MultiplyOneRow(x, w, y.data, stream);
  return MultiplyHeads(x, {}, w, y, stream);
}

Status MultiplyHeads(Rows<const float> x, const Heads& heads, const WeightMatrix& w, Rows<float> y, Stream stream) {
  Status out;
  const bool known =
      WithWeightRows(w.type, [&]<class R>() { out = MultiplyRows<R, kRowsAtOnce>(x, heads, w, y, stream); });
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
