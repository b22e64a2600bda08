#include "compute/cuda/kernels/mat_mul.h"

#include "compute/cuda/device/async_copy.h"
#include "compute/cuda/device/half.h"
#include "compute/cuda/device/mma.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// A block computes a tile of 64 x 64 with four warps, each a quarter of 32 x 32. The depth goes in steps of 32, three
// of which are in shared memory: one is multiplied while two are copied.
constexpr int kTile = 64;
constexpr int kDepth = 32;
constexpr int kStages = 3;
constexpr int kMatMulThreads = 128;
constexpr int kPitch = kDepth + 8;  // elements: 80 bytes, so that ldmatrix's eight rows are in different banks
constexpr int kPanel = kTile * kPitch;
constexpr unsigned kSharedBytes = kStages * 2 * kPanel * sizeof(uint16_t);

// Starts the copy of rows [first, first + 64) and elements [depth, depth + 32) of a matrix, zeros beyond its end.
template <class T>
__device__ inline void CopyPanel(T* panel, const Rows<const T>& from, int64_t first, int64_t depth) {
  constexpr int kChunks = kDepth / 8;  // of 16 bytes, in a row
  for (int i = static_cast<int>(ThreadIndex().x); i < kTile * kChunks; i += kMatMulThreads) {
    const int row = i / kChunks;
    const int column = i % kChunks * 8;
    const bool present = first + row < from.rows && depth + column < from.columns;
    const T* source = present ? from.data + (first + row) * from.stride + depth + column : from.data;
    CopyAsync16(panel + row * kPitch + column, source, present);
  }
}

// Adds the product of a stage to a warp's quarter. `a` and `b` are the warp's rows of x and of w.
template <class T>
__device__ inline void MultiplyStage(FragmentC<float> (&sums)[2][4], const T* a, const T* b) {
  const int matrix = Lane() / 8;
  const int row = Lane() % 8;
  for (int k = 0; k < kDepth; k += 16) {
    FragmentA left[2];
    for (int i = 0; i < 2; ++i) {
      LoadMatrix4(left[i].x, a + (i * 16 + row + matrix % 2 * 8) * kPitch + k + matrix / 2 * 8);
    }
    for (int j = 0; j < 4; j += 2) {
      uint32_t pair[4];  // two fragments of eight columns each
      LoadMatrix4(pair, b + (j * 8 + row + matrix / 2 * 8) * kPitch + k + matrix % 2 * 8);
      for (int i = 0; i < 2; ++i) {
        MatMulAdd<T>(sums[i][j], left[i], FragmentB{{pair[0], pair[1]}});
        MatMulAdd<T>(sums[i][j + 1], left[i], FragmentB{{pair[2], pair[3]}});
      }
    }
  }
}

// Blocks x are tiles of n, y of m.
template <class T, class Out>
__global__ void __launch_bounds__(kMatMulThreads, 2) MatMulKernel(Rows<const T> x, Rows<const T> w, Out* y) {
  T* shared = SharedMemory<T>();
  const int64_t m = int64_t{BlockIndex().y} * kTile;
  const int64_t n = int64_t{BlockIndex().x} * kTile;
  const int warp_m = Warp() / 2 * 32;
  const int warp_n = Warp() % 2 * 32;
  const int steps = static_cast<int>((x.columns + kDepth - 1) / kDepth);
  const auto copy = [&](int step) {
    if (step < steps) {
      T* stage = shared + step % kStages * 2 * kPanel;
      CopyPanel(stage, x, m, int64_t{step} * kDepth);
      CopyPanel(stage + kPanel, w, n, int64_t{step} * kDepth);
    }
    CommitCopies();  // an empty group too: WaitCopies counts them
  };

  FragmentC<float> sums[2][4] = {};
  for (int step = 0; step < kStages - 1; ++step) copy(step);
  for (int step = 0; step < steps; ++step) {
    WaitCopies<kStages - 2>();
    SyncThreads();  // everyone's copies of this step are there, and everyone is done with the stage that is copied to
                    // next
    copy(step + kStages - 1);
    const T* stage = shared + step % kStages * 2 * kPanel;
    MultiplyStage<T>(sums, stage + warp_m * kPitch, stage + kPanel + warp_n * kPitch);
  }

  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int e = 0; e < 4; ++e) {
        const int64_t row = m + warp_m + i * 16 + Lane() / 4 + e / 2 * 8;
        const int64_t column = n + warp_n + j * 8 + Lane() % 4 * 2 + e % 2;
        if (row < x.rows && column < w.rows) y[row * w.rows + column] = FromFloat<Out>(sums[i][j].x[e]);
      }
    }
  }
}

}  // namespace

template <class T, class Out>
Status MatMul(Rows<const T> x, Rows<const T> w, Out* y, Stream stream) {
  const auto aligned = [](const Rows<const T>& rows) {
    return reinterpret_cast<uintptr_t>(rows.data) % 16 == 0 && rows.stride % 8 == 0;
  };
  if (x.columns != w.columns || x.columns % 8 != 0 || !aligned(x) || !aligned(w)) {
    return Fail(ErrorCode::kInvalidArgument,
                "a product over {} and {} inputs; both have to be one multiple of 8, in rows of whole 16 bytes",
                x.columns, w.columns);
  }
  const auto tiles = [](int64_t size) { return static_cast<unsigned>((size + kTile - 1) / kTile); };
  return Launch(MatMulKernel<T, Out>, {tiles(w.rows), tiles(x.rows)}, {kMatMulThreads}, kSharedBytes, stream, x, w, y);
}

template Status MatMul(Rows<const Fp16>, Rows<const Fp16>, Fp16*, Stream);
template Status MatMul(Rows<const Fp16>, Rows<const Fp16>, float*, Stream);
template Status MatMul(Rows<const Bf16>, Rows<const Bf16>, Bf16*, Stream);
template Status MatMul(Rows<const Bf16>, Rows<const Bf16>, float*, Stream);

}  // namespace inferflux::cuda
