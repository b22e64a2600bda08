// Products with dense weights: F32, and F16 and BF16 widened exactly. A panel is [inputs][16 outputs].
// Included once an instruction set, after its lanes header.
#pragma once

#include <algorithm>

#include "compute/cpu/isa/float_tile_inl.h"
#include "compute/cpu/kernels.h"

namespace inferflux::compute::cpu {
namespace {

// M rows against N panels, a piece of the inputs at a time: the sums come from `sums` and go back there.
template <int M, int N, class T>
inline void FloatPiece(const float* x, int64_t x_stride, const T* panel, int64_t inputs, int64_t steps, float* sums) {
  constexpr int64_t kStride = kTaskPanels * kPanel;
  FloatTile<M, N> tile;
  tile.Load(sums, kStride);
  tile.Run(x, x_stride, panel, kPanel, inputs * kPanel, steps);
  tile.Store(sums, kStride);
}

template <class T>
void FloatProduct(const ProductTask& task) {
  constexpr int64_t kStride = kTaskPanels * kPanel;
  const auto* weights = reinterpret_cast<const T*>(task.panels);
  auto* sums = reinterpret_cast<float*>(task.scratch);
  // One row streams whole panels; many rows keep a piece of some panels in the first-level cache.
  const int64_t piece = task.rows == 1 ? task.inputs : kChunk;
  for (int64_t first = task.first_panel; first < task.last_panel; first += kTaskPanels) {
    const int64_t panels = std::min(kTaskPanels, task.last_panel - first);
    std::fill_n(sums, task.rows * kStride, 0.0f);
    for (int64_t k = 0; k < task.inputs; k += piece) {
      const int64_t steps = std::min(piece, task.inputs - k);
      const auto panel = [&](int64_t n) { return weights + (first + n) * task.inputs * kPanel + k * kPanel; };
      if (task.rows == 1 && panels == kTaskPanels) {  // four chains hide the latency that one would show
        FloatPiece<1, kTaskPanels>(task.x + k, task.x_stride, panel(0), task.inputs, steps, sums);
        continue;
      }
      for (int64_t r = 0; r < task.rows; r += kFloatRows) {
        const float* x = task.x + r * task.x_stride + k;
        WithRows<kFloatRows>(std::min<int64_t>(kFloatRows, task.rows - r), [&]<int M>() {
          int64_t n = 0;
          for (; n + kFloatPanels <= panels; n += kFloatPanels) {
            FloatPiece<M, kFloatPanels>(x, task.x_stride, panel(n), task.inputs, steps,
                                        sums + r * kStride + n * kPanel);
          }
          if constexpr (kFloatPanels > 1) {
            for (; n < panels; ++n) {
              FloatPiece<M, 1>(x, task.x_stride, panel(n), task.inputs, steps, sums + r * kStride + n * kPanel);
            }
          }
        });
      }
    }
    for (int64_t r = 0; r < task.rows; ++r) {
      std::copy_n(sums + r * kStride, std::min(panels * kPanel, task.outputs - first * kPanel),
                  task.y + r * task.y_stride + first * kPanel);
    }
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
