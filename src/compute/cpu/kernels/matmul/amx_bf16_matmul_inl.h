// Matmuls with BF16 weights in tiles, for any number of rows. The unit adds up the even inputs of 32 and the odd ones,
// then adds both to the sum; AVX-512's dot products add in another order. The steps of 32 inputs depend only on the
// number of inputs, so a row's result is the same alone and in any batch. The unit treats subnormal numbers as zeros.
// Included after the lanes header.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/amx_tiles.h"
#include "compute/cpu/kernels/matmul/float_tile_inl.h"

namespace inferflux::compute::cpu {
namespace {

constexpr int64_t kTilePairs = kTileRowBytes / 4;  // pairs of inputs in one tile matmul
constexpr int64_t kTileWeights = kTilePairs * 2 * kPanel;

// The last steps, where rows or panels cannot be read in full; missing inputs are zero.
struct alignas(64) Bf16Scratch {
  Bf16 x[kTaskRows][2 * kTilePairs];
  Bf16 weights[kTaskPanels][kTileWeights];
};
static_assert(sizeof(Bf16Scratch) <= kTileScratchBytes);

// Consecutive tile matmuls, in elements.
struct Bf16Steps {
  const Bf16* x = nullptr;  // row 0
  int64_t x_stride = 0;
  const Bf16* weights = nullptr;  // panel 0
  int64_t next_panel = 0;
  int64_t count = 0;
  bool first = false;  // sums start from zero

  Bf16Steps From(int64_t panel) const { return {x, x_stride, weights + panel * next_panel, next_panel, count, first}; }
};

// sums[row tile][panel] += steps; `sums` points at the first row tile's first panel.
template <int kRowTiles, int kPanels>
inline void AddBf16(const RowTiles& rows, int64_t tile, const Bf16Steps& steps, float* sums) {
  static_assert(kRowTiles * kPanels <= kActivationTile);
  const auto sum = [&](int row, int panel) { return sums + (row * kTaskPanels + panel) * kTileInts; };
  ForEach<kRowTiles>([&]<int kRow>() {
    ForEach<kPanels>([&]<int kColumn>() {
      constexpr int kSums = kRow * kPanels + kColumn;
      steps.first ? ZeroTile<kSums>() : LoadTile<kSums>(sum(kRow, kColumn), kTileRowBytes);
    });
  });
  for (int64_t k = 0; k < steps.count; ++k) {
    ForEach<kRowTiles>([&]<int kRow>() {
      const Bf16* x = steps.x + rows.First(tile + kRow) * steps.x_stride + k * 2 * kTilePairs;
      LoadTile<kActivationTile + kRow>(x, 2 * steps.x_stride);
    });
    ForEach<kPanels>([&]<int kColumn>() {
      constexpr int kWeights = kWeightTile + kColumn % 2;
      LoadTile<kWeights>(steps.weights + kColumn * steps.next_panel + k * kTileWeights, kTileRowBytes);
      ForEach<kRowTiles>(
          [&]<int kRow>() { DotBf16Tiles<kRow * kPanels + kColumn, kActivationTile + kRow, kWeights>(); });
    });
  }
  ForEach<kRowTiles>([&]<int kRow>() {
    ForEach<kPanels>([&]<int kColumn>() { StoreTile<kRow * kPanels + kColumn>(sum(kRow, kColumn), kTileRowBytes); });
  });
}

// All rows and panels, four tiles of sums at a time.
inline void AddBf16(const RowTiles& rows, int64_t panels, const Bf16Steps& steps, float* sums) {
  for (int64_t tile = 0; tile < rows.tiles; tile += 2) {
    WithRows<2>(std::min<int64_t>(2, rows.tiles - tile), [&]<int kRowTiles>() {
      constexpr int64_t kMost = kActivationTile / kRowTiles;
      for (int64_t n = 0; n < panels; n += kMost) {
        WithRows<kMost>(std::min(kMost, panels - n), [&]<int kPanels>() {
          AddBf16<kRowTiles, kPanels>(rows, tile, steps.From(n), sums + (tile * kTaskPanels + n) * kTileInts);
        });
      }
    });
  }
}

// The last step, if the inputs end within it.
inline Bf16Steps LastStep(const MatmulTask& task, const Bf16* panel, int64_t panel_size, int64_t panels,
                          Bf16Scratch& scratch) {
  const int64_t pairs = (task.inputs + 1) / 2;
  const int64_t whole = pairs / kTilePairs;
  const int64_t left = pairs % kTilePairs;
  scratch = {};
  for (int64_t r = 0; r < task.rows; ++r) {
    std::copy_n(task.x_bf16.data + r * task.x_bf16.stride + whole * 2 * kTilePairs, 2 * left, scratch.x[r]);
  }
  for (int64_t n = 0; n < panels; ++n) {
    std::copy_n(panel + n * panel_size + whole * kTileWeights, left * 2 * kPanel, scratch.weights[n]);
  }
  return {scratch.x[0], 2 * kTilePairs, scratch.weights[0], kTileWeights, 1, whole == 0};
}

void TiledBf16Matmul(const MatmulTask& task) {
  const RowTiles rows(task.rows);
  const int64_t panels = task.last_panel - task.first_panel;
  const int64_t pairs = (task.inputs + 1) / 2;
  const int64_t whole = pairs / kTilePairs;
  const int64_t panel_size = pairs * 2 * kPanel;
  const Bf16* weights = reinterpret_cast<const Bf16*>(task.panels) + task.first_panel * panel_size;
  auto* sums = reinterpret_cast<float*>(task.scratch);  // [row tile][panel][row][16]
  const TileUnit unit(TileShapes(rows.height, kTileRowBytes));
  // A few rows stream whole panels; many rows keep a part of some panels in the caches.
  const int64_t piece = rows.tiles == 1 ? std::max<int64_t>(whole, 1) : 32;
  for (int64_t k = 0; k < whole; k += piece) {
    AddBf16(rows, panels,
            {task.x_bf16.data + k * 2 * kTilePairs, task.x_bf16.stride, weights + k * kTileWeights, panel_size,
             std::min(piece, whole - k), k == 0},
            sums);
  }
  if (pairs % kTilePairs != 0) {
    auto& scratch = *reinterpret_cast<Bf16Scratch*>(task.scratch + kSumBytes);
    AddBf16(rows, panels, LastStep(task, weights, panel_size, panels, scratch), sums);
  }
  for (int64_t tile = 0; tile < rows.tiles; ++tile) {
    for (int64_t r = rows.Begin(tile); r < rows.End(tile); ++r) {
      for (int64_t n = 0; n < panels; ++n) {
        const int64_t output = (task.first_panel + n) * kPanel;
        std::copy_n(sums + (tile * kTaskPanels + n) * kTileInts + (r - rows.First(tile)) * kPanel,
                    std::min<int64_t>(kPanel, task.outputs - output), task.y + r * task.y_stride + output);
      }
    }
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
