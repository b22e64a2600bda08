#include "compute/cuda/kernels/products/one_row.h"

#include <algorithm>

#include "compute/cuda/device/async_copy.h"
#include "compute/cuda/device/launch_order.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/products/warp_shares.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

constexpr int kOneRowWarps = 8;
constexpr int kOneRowOutputs = 2;                         // of a warp at a time
constexpr int kOneRowStages = 3;                          // steps of a warp whose weights are there or under way
constexpr int kBlocksEach = 3;                            // of a multiprocessor
constexpr int64_t kBlocksOfDevice = kBlocksEach * 132;    // as many as a large GPU runs at once
constexpr int64_t kMostSharedBytes = int64_t{99} * 1024;  // of a block, on every GPU since sm_80

// A step of a warp is its outputs' next 32 shares.
template <class R>
constexpr int kStageBytes = kOneRowOutputs* WarpShare<R>::kBytes;

template <class R>
__host__ __device__ int64_t StepsOf(int64_t columns) {
  return (LaneShare<R>::Count(columns) + kWarpSize - 1) / kWarpSize;
}

// Copies a warp's weights into shared memory, a step at a time.
template <class R>
struct WeightRing {
  const WeightMatrix& w;
  uint8_t* stages;  // [kOneRowStages, kStageBytes]
  int64_t output;   // the first of the step that is copied next
  int64_t outputs_of_grid;
  int step = 0, steps;

  __device__ void Copy(int stage) {
    constexpr int kUnits = WarpShare<R>::kBytes / 16;  // of a row
#pragma unroll
    for (int first = 0; first < kOneRowOutputs * kUnits; first += kWarpSize) {
      const int unit = first + Lane();
      if (unit >= kOneRowOutputs * kUnits) break;
      const int64_t row = output + unit / kUnits;
      const int64_t at = int64_t{step} * WarpShare<R>::kBytes + unit % kUnits * 16;
      const bool present = row < w.rows && at < w.row_bytes;
      CopyAsync16(stages + stage * kStageBytes<R> + unit * 16, w.data + (present ? row * w.row_bytes + at : 0),
                  present);
    }
    if (++step == steps) {
      step = 0;
      output += outputs_of_grid;
    }
  }
};

// Adds up each of two sums over all lanes, and stores them.
__device__ inline void StoreSums(const float (&sums)[kOneRowOutputs], int64_t output, int64_t rows, float* y) {
  const bool second = Lane() >= kWarpSize / 2;  // half of the lanes add up one, half the other
  float sum = (second ? sums[1] : sums[0]) + ShuffleXor(kFullWarp, second ? sums[0] : sums[1], kWarpSize / 2);
  for (int flip = kWarpSize / 4; flip > 0; flip /= 2) sum += ShuffleXor(kFullWarp, sum, flip);
  if (Lane() % (kWarpSize / 2) == 0 && output + second < rows) y[output + second] = sum;
}

// The block keeps the inputs in shared memory. Each warp walks its own outputs, all warps of the grid side by side, and
// copies the weights of later steps while it multiplies. The first copies start before the previous kernel has ended.
template <class R>
__global__ void __launch_bounds__(kOneRowWarps* kWarpSize, kBlocksEach)
    OneRowKernel(Rows<const float> x, bool packed, WeightMatrix w, float* y) {
  using Share = LaneShare<R>;
  using Inputs = typename WarpShare<R>::Inputs;
  constexpr int kWords = sizeof(Inputs) / sizeof(FourWords);
  const auto steps = static_cast<int>(StepsOf<R>(w.columns));
  const int shares = steps * kWarpSize;
  auto* inputs = SharedMemory<FourWords>();  // [kWords, shares]
  auto* rings = reinterpret_cast<uint8_t*>(inputs + kWords * shares);
  const int64_t outputs_of_grid = int64_t{GridSize().x} * kOneRowWarps * kOneRowOutputs;
  // Warps of neighbouring blocks take neighbouring outputs, so that the last ones are spread over the device.
  int64_t output = (BlockIndex().x + static_cast<int64_t>(Warp()) * GridSize().x) * kOneRowOutputs;
  const int64_t runs = output < w.rows ? (w.rows - output - 1) / outputs_of_grid + 1 : 0;
  const auto all = static_cast<int>(runs * steps);

  WeightRing<R> ring{w, rings + Warp() * kOneRowStages * kStageBytes<R>, output, outputs_of_grid, 0, steps};
  for (int n = 0; n < kOneRowStages; ++n) {
    if (n < all) ring.Copy(n);  // no kernel before writes weights
    CommitCopies();
  }
  WaitForKernelsBefore();
  for (int share = static_cast<int>(ThreadIndex().x); share < shares; share += kOneRowWarps * kWarpSize) {
    float floats[Share::kRuns * Share::kRun] = {};
    if (share < Share::Count(w.columns)) LoadInputs<Share>(x.data, w.columns, share, packed, floats);
    const Inputs made = WarpShare<R>::InputsOf(floats);
    for (int i = 0; i < kWords; ++i) inputs[i * shares + share] = made.words[i];
  }
  SyncThreads();

  const WarpShare<R> warp_share(Lane());
  float sums[kOneRowOutputs] = {};
  int step = 0, stage = 0;
  for (int n = 0; n < all; ++n) {
    Inputs taken;
#pragma unroll
    for (int i = 0; i < kWords; ++i) taken.words[i] = inputs[i * shares + step * kWarpSize + Lane()];
    WaitCopies<kOneRowStages - 1>();
    SyncWarp();
#pragma unroll
    for (int o = 0; o < kOneRowOutputs; ++o) {
      const uint8_t* weights = ring.stages + stage * kStageBytes<R> + o * WarpShare<R>::kBytes;
      sums[o] = warp_share.Dot(weights, taken, sums[o]);
    }
    SyncWarp();
    if (n + kOneRowStages < all) ring.Copy(stage);
    CommitCopies();
    if (++stage == kOneRowStages) stage = 0;
    if (++step == steps) {
      StoreSums(sums, output, w.rows, y);
      for (float& sum : sums) sum = 0.0f;
      step = 0;
      output += outputs_of_grid;
    }
  }
}

template <class R>
int64_t SharedBytes(const WeightMatrix& w) {
  return StepsOf<R>(w.columns) * kWarpSize * static_cast<int64_t>(sizeof(typename WarpShare<R>::Inputs)) +
         int64_t{kOneRowWarps} * kOneRowStages * kStageBytes<R>;
}

// f.template operator()<Rows>() with the rows of a type that has a kernel.
template <class F>
void WithOneRow(formats::TensorType type, const F& f) {
  WithWeightRows(type, [&]<class R>() {
    if constexpr (HasWarpShare<R>) f.template operator()<R>();
  });
}

}  // namespace

bool TakesOneRow(const WeightMatrix& w) {
  bool fits = false;
  WithOneRow(w.type, [&]<class R>() { fits = SharedBytes<R>(w) <= kMostSharedBytes; });
  return fits;
}

Status MultiplyOneRow(Rows<const float> x, const WeightMatrix& w, float* y, Stream stream) {
  if (!TakesOneRow(w)) {
    return Fail(ErrorCode::kUnsupported, "no kernel multiplies one row with {} of {} columns",
                formats::TensorTypeName(w.type), w.columns);
  }
  Status out;
  WithOneRow(w.type, [&]<class R>() {
    constexpr int64_t kOutputsOfBlock = int64_t{kOneRowWarps} * kOneRowOutputs;
    const int64_t blocks = std::min((w.rows + kOutputsOfBlock - 1) / kOutputsOfBlock, kBlocksOfDevice);
    out = LaunchEarly(OneRowKernel<R>, {static_cast<unsigned>(blocks)}, {kOneRowWarps * kWarpSize},
                      static_cast<size_t>(SharedBytes<R>(w)), stream, x, Packs<float>(4, 0, {}, {x.data}), w, y);
  });
  return out;
}

}  // namespace inferflux::cuda
