#include <concepts>

#include "compute/cuda/device/async_copy.h"
#include "compute/cuda/device/half.h"
#include "compute/cuda/device/mma.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/kernels/products/products.h"
#include "compute/cuda/kernels/products/weight_rows.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda {
namespace {

// The rows of a block's tile: of y, and of x for each; -1: none.
struct TileRows {
  int32_t line[64];
  int32_t source[64];
};

// A block computes a tile of 64 x 64 with four warps, each a quarter of 32 x 32. The depth goes in steps of 32, three
// of which are in shared memory: one is multiplied while two are copied, or unpacked.
constexpr int kTile = 64;
constexpr int kDepth = 32;
constexpr int kStages = 3;
constexpr int kTileThreads = 128;
constexpr int kPitch = kDepth + 8;  // elements: 80 bytes, so that ldmatrix's eight rows are in different banks
constexpr int kPanel = kTile * kPitch;
constexpr unsigned kPanelBytes = kStages * 2 * kPanel * sizeof(uint16_t);
constexpr unsigned kTileBytes = kPanelBytes + sizeof(TileRows);

// Starts the copy of rows [first, first + 64) and elements [depth, depth + 32) of a matrix, zeros beyond its end.
template <class T>
__device__ inline void CopyPanel(T* panel, const Rows<const T>& from, int64_t first, int64_t depth) {
  constexpr int kChunks = kDepth / 8;  // of 16 bytes, in a row
  for (int i = static_cast<int>(ThreadIndex().x); i < kTile * kChunks; i += kTileThreads) {
    const int row = i / kChunks;
    const int column = i % kChunks * 8;
    const bool present = first + row < from.rows && depth + column < from.columns;
    const T* source = present ? from.data + (first + row) * from.stride + depth + column : from.data;
    CopyAsync16(panel + row * kPitch + column, source, present);
  }
}

// The same of the rows that the tile takes, in any order.
template <class T>
__device__ inline void CopyRows(T* panel, const Rows<const T>& from, const TileRows& rows, int64_t depth) {
  constexpr int kChunks = kDepth / 8;
  for (int i = static_cast<int>(ThreadIndex().x); i < kTile * kChunks; i += kTileThreads) {
    const int row = i / kChunks;
    const int column = i % kChunks * 8;
    const int32_t source = rows.source[row];
    const bool present = source >= 0 && depth + column < from.columns;
    const T* at = present ? from.data + source * from.stride + depth + column : from.data;
    CopyAsync16(panel + row * kPitch + column, at, present);
  }
}

// The same of weights, which are unpacked: a thread takes one group.
template <class R>
__device__ inline void UnpackPanel(typename R::Element* panel, const WeightMatrix& w, int64_t first, int64_t depth) {
  using T = typename R::Element;
  static_assert(kTile * kDepth / kGroup == kTileThreads);
  const int row = static_cast<int>(ThreadIndex().x) / (kDepth / kGroup);
  const int at = static_cast<int>(ThreadIndex().x) % (kDepth / kGroup) * kGroup;
  float values[kGroup] = {};
  if (first + row < w.rows && depth + at < w.columns) {
    R::Unpack(w.data + (first + row) * w.row_bytes, w.columns, (depth + at) / kGroup, values);
  }
  for (int half = 0; half < kGroup; half += 8) {
    Pack<T, 8> packed;
    for (int i = 0; i < 8; ++i) packed.x[i] = FromFloat<T>(values[half + i]);
    *reinterpret_cast<Pack<T, 8>*>(panel + row * kPitch + at + half) = packed;
  }
}

template <class R>
__device__ inline void LoadWeights(typename R::Element* panel, const WeightMatrix& w, int64_t first, int64_t depth) {
  using T = typename R::Element;
  if constexpr (std::same_as<R, F16Rows> || std::same_as<R, Bf16Rows>) {
    const int64_t elements = w.row_bytes / static_cast<int64_t>(sizeof(T));
    CopyPanel<T>(panel, {reinterpret_cast<const T*>(w.data), w.rows, elements, elements}, first, depth);
  } else {
    UnpackPanel<R>(panel, w, first, depth);
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
    uint32_t pairs[2][4];  // two fragments of eight columns each
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      LoadMatrix4(pairs[j], b + (j * 16 + row + matrix / 2 * 8) * kPitch + k + matrix % 2 * 8);
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      for (int i = 0; i < 2; ++i) {
        MatMulAdd<T>(sums[i][2 * j], left[i], FragmentB{{pairs[j][0], pairs[j][1]}});
        MatMulAdd<T>(sums[i][2 * j + 1], left[i], FragmentB{{pairs[j][2], pairs[j][3]}});
      }
    }
  }
}

// Fills the rows of the block's tile, and yields the expert whose weights it takes; -1: the tile is unused. Without
// groups tile t has the rows from 64 t on.
__device__ inline int32_t FindTileRows(const LineGroups& groups, int64_t rows, TileRows* out) {
  const int32_t tile = static_cast<int32_t>(BlockIndex().y);
  const int thread = static_cast<int>(ThreadIndex().x);
  int32_t expert = 0, first = tile * kTile;
  int32_t count = static_cast<int32_t>(rows) - first;
  if (groups.order != nullptr) {
    expert = groups.tiles[3 * tile];
    if (expert < 0) return expert;  // the others are not there
    first = groups.tiles[3 * tile + 1];
    count = groups.tiles[3 * tile + 2];
  }
  if (thread < kTile) {
    int32_t line = -1;
    if (thread < count) line = groups.order != nullptr ? groups.order[first + thread] : first + thread;
    out->line[thread] = line;
    out->source[thread] = line < 0 ? -1 : line / groups.lines_per_row;
  }
  SyncThreads();
  return expert;
}

// Blocks x are tiles of n, y of m, z heads.
template <class R>
__global__ void __launch_bounds__(kTileThreads, 2)
    TileKernel(Rows<const typename R::Element> x, const float* row_scales, LineGroups groups, Heads heads,
               WeightMatrix w, Rows<float> y) {
  using T = typename R::Element;
  T* shared = SharedMemory<T>();
  auto* rows = SharedMemory<TileRows>(kPanelBytes);
  const int32_t expert = FindTileRows(groups, y.rows, rows);
  if (expert < 0) return;
  const int64_t head = BlockIndex().z;
  x.data += head * heads.x_columns;
  y.data += head * heads.y_columns;
  w.data += (expert + head) * w.rows * w.row_bytes;
  const int64_t n = int64_t{BlockIndex().x} * kTile;
  const int warp_m = Warp() / 2 * 32;
  const int warp_n = Warp() % 2 * 32;
  const int steps = static_cast<int>((x.columns + kDepth - 1) / kDepth);
  const auto load = [&](int step) {
    if (step < steps) {
      T* stage = shared + step % kStages * 2 * kPanel;
      CopyRows(stage, x, *rows, int64_t{step} * kDepth);
      LoadWeights<R>(stage + kPanel, w, n, int64_t{step} * kDepth);
    }
    CommitCopies();  // an empty group too: WaitCopies counts them
  };

  FragmentC<float> sums[2][4] = {};
  for (int step = 0; step < kStages - 1; ++step) load(step);
  for (int step = 0; step < steps; ++step) {
    WaitCopies<kStages - 2>();
    SyncThreads();  // everyone's part of this step is there, and everyone is done with the stage that is filled next
    load(step + kStages - 1);
    const T* stage = shared + step % kStages * 2 * kPanel;
    MultiplyStage<T>(sums, stage + warp_m * kPitch, stage + kPanel + warp_n * kPitch);
  }

#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = warp_m + i * 16 + Lane() / 4 + e / 2 * 8;
        const int64_t column = n + warp_n + j * 8 + Lane() % 4 * 2 + e % 2;
        const int64_t line = rows->line[row];
        if (line < 0 || column >= w.rows) continue;
        const float scale = row_scales != nullptr ? row_scales[rows->source[row]] : 1.0f;
        y.data[line * y.stride + column] = sums[i][j].x[e] * scale;
      }
    }
  }
}

template <class R, class T>
Status LaunchTiles(const Rows<const T>& x, const float* row_scales, const LineGroups& groups, const Heads& heads,
                   const WeightMatrix& w, const Rows<float>& y, Stream stream) {
  if constexpr (!std::same_as<R, F32Rows> && std::same_as<typename R::Element, T>) {
    const auto tiles = [](int64_t size) { return static_cast<unsigned>((size + kTile - 1) / kTile); };
    const unsigned of_rows = groups.order != nullptr ? static_cast<unsigned>(groups.tile_count) : tiles(x.rows);
    return Launch(TileKernel<R>, {tiles(w.rows), of_rows, static_cast<unsigned>(heads.count)}, {kTileThreads},
                  kTileBytes, stream, x, row_scales, groups, heads, w, y);
  } else {
    return Fail(ErrorCode::kInvalidArgument, "tiles of {} with activations of another type",
                formats::TensorTypeName(w.type));
  }
}

template <class T>
Status MultiplyTilesOf(const Rows<const T>& x, const float* row_scales, const LineGroups& groups, const Heads& heads,
                       const WeightMatrix& w, const Rows<float>& y, Stream stream) {
  const bool aligned = reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.stride % 8 == 0 && heads.x_columns % 8 == 0;
  if (!aligned || x.columns != RoundUp(w.columns, kGroup)) {
    return Fail(ErrorCode::kInvalidArgument,
                "a product over {} and {} inputs; rows have to begin at multiples of 16 bytes, and to be padded to "
                "multiples of {} inputs",
                x.columns, w.columns, kGroup);
  }
  Status out;
  const bool known =
      WithWeightRows(w.type, [&]<class R>() { out = LaunchTiles<R, T>(x, row_scales, groups, heads, w, y, stream); });
  if (!known) {
    return Fail(ErrorCode::kUnsupported, "no kernel unpacks {} into tiles", formats::TensorTypeName(w.type));
  }
  return out;
}

}  // namespace

Status MultiplyHeads(Rows<const Fp16> x, const float* row_scales, const Heads& heads, const WeightMatrix& w,
                     Rows<float> y, Stream stream) {
  return MultiplyTilesOf(x, row_scales, {}, heads, w, y, stream);
}
Status MultiplyHeads(Rows<const Bf16> x, const float* row_scales, const Heads& heads, const WeightMatrix& w,
                     Rows<float> y, Stream stream) {
  return MultiplyTilesOf(x, row_scales, {}, heads, w, y, stream);
}

Status MultiplyGroups(Rows<const Fp16> x, const float* row_scales, const LineGroups& groups, const WeightMatrix& w,
                      Rows<float> y, Stream stream) {
  return MultiplyTilesOf(x, row_scales, groups, {}, w, y, stream);
}
Status MultiplyGroups(Rows<const Bf16> x, const float* row_scales, const LineGroups& groups, const WeightMatrix& w,
                      Rows<float> y, Stream stream) {
  return MultiplyTilesOf(x, row_scales, groups, {}, w, y, stream);
}

}  // namespace inferflux::cuda
