#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/kernels/products/one_row.h"

#include <algorithm>
#include <concepts>

#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/products/integer_shares.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// At a time: as many as registers hold twice.
template <class R>
constexpr int kOneRowOutputs = std::same_as<R, Q4_KRows> ? 4 : 3;
constexpr int64_t kMostOneRowThreads = 512;
constexpr int64_t kThreadsOfDevice = 256 << 10;  // about as many as a large GPU runs at once

// A thread keeps its share of the inputs, as integers, in registers, while the block walks the outputs, every grid's
// width of them; the weights of the next ones are loaded before those at hand are multiplied.
template <class R>
__global__ void __launch_bounds__(kMostOneRowThreads, 1)
    OneRowKernel(Rows<const float> x, bool packed, WeightMatrix w, float* y) {
  using Share = LaneShare<R>;
  const int64_t share = ThreadIndex().x;
  const bool present = share < Share::Count(w.columns);
  constexpr int kAtOnce = kOneRowOutputs<R>;
  using Several = typename Share::Values[kAtOnce];
  const auto load = [&](int64_t output, Several& values) {
#pragma unroll
    for (int o = 0; o < kAtOnce; ++o) {
      const int64_t row = output + o < w.rows ? output + o : w.rows - 1;
      values[o] = Share::Load(w.data + row * w.row_bytes, w.columns, present ? share : 0);
    }
  };
  const int64_t step = int64_t{GridSize().x} * kAtOnce;
  const int warps = static_cast<int>(BlockSize().x) / kWarpSize;
  float* shared = SharedMemory<float>();  // [2, warps, kAtOnce]
  int64_t output = int64_t{BlockIndex().x} * kAtOnce;
  Several values;
  load(output, values);  // no kernel before writes weights
  WaitForKernelsBefore();
  float floats[Share::kRuns * Share::kRun] = {};
  if (present) LoadInputs<Share>(x.data, w.columns, share, packed, floats);
  const IntegerInputs<Share> inputs(floats);
  for (; output < w.rows; output += step) {
    Several next = {};
    if (output + step < w.rows) load(output + step, next);
#pragma unroll
    for (int o = 0; o < kAtOnce; ++o) {
      const float sum = WarpSum(present ? IntegerShare<R>::Dot(values[o], inputs) : 0.0f);
      if (Lane() == 0) shared[Warp() * kAtOnce + o] = sum;
    }
    SyncThreads();
    const int o = static_cast<int>(ThreadIndex().x);
    if (o < kAtOnce && output + o < w.rows) {
      float total = 0.0f;
      for (int warp = 0; warp < warps; ++warp) total += shared[warp * kAtOnce + o];
      y[output + o] = total;
    }
    // The next outputs' sums go to the other half: those here are read until the barrier after.
    shared = SharedMemory<float>() + (shared == SharedMemory<float>() ? warps * kAtOnce : 0);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) values[i] = next[i];
  }
}

// The rows that have a kernel: shares of at most 32 values, so that they stay in registers.
template <class F>
bool WithOneRow(formats::TensorType type, const F& f) {
  bool known = false;
  WithWeightRows(type, [&]<class R>() {
    if constexpr (std::same_as<R, Q4_KRows> || std::same_as<R, Q6_KRows>) {
      f.template operator()<R>();
      known = true;
    }
  });
  return known;
}

template <class R>
int64_t ThreadsFor(const WeightMatrix& w) {
  return RoundUp(w.columns / (LaneShare<R>::kRuns * LaneShare<R>::kRun), kWarpSize);
}

}  // namespace

bool TakesOneRow(const WeightMatrix& w) {
  bool fits = false;
  WithOneRow(w.type, [&]<class R>() { fits = ThreadsFor<R>(w) <= kMostOneRowThreads; });
  return fits;
}

Status MultiplyOneRow(Rows<const float> x, const WeightMatrix& w, float* y, Stream stream) {
  if (!TakesOneRow(w)) {
    return Fail(ErrorCode::kUnsupported, "no kernel multiplies one row with {} of {} columns",
                formats::TensorTypeName(w.type), w.columns);
  }
  Status out;
  WithOneRow(w.type, [&]<class R>() {
    const int64_t threads = ThreadsFor<R>(w);
    const int64_t blocks = std::min((w.rows + kOneRowOutputs<R> - 1) / kOneRowOutputs<R>, kThreadsOfDevice / threads);
    const auto bytes = static_cast<size_t>(2 * threads / kWarpSize * kOneRowOutputs<R>) * sizeof(float);
    out = LaunchEarly(OneRowKernel<R>, {static_cast<unsigned>(blocks)}, {static_cast<unsigned>(threads)}, bytes, stream,
                      x, Packs<float>(4, 0, {}, {x.data}), w, y);
  });
  return out;
}

}  // namespace inferflux::cuda
