// Matmuls with dense weights: F32 and F16, widened exactly, with float activations; BF16 with activations rounded to
// BF16, two inputs at a time. A panel is [steps][16 outputs], where a step is one input, or two of BF16. Each sum is
// one chain over ascending steps, so it does not depend on the number of rows or on how they are cut into tiles.
// Included once per instruction set, after its lanes header.
#pragma once

#include <algorithm>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/float_tile_inl.h"

namespace inferflux::compute::cpu {
namespace {

constexpr int64_t kSumsStride = kTaskPanels * kPanel;

template <class T>
struct Widened {
  using Weight = T;
  using Input = float;
  static constexpr int64_t kDepth = 1;  // inputs per step
  static Rows<float> InputsOf(const MatmulTask& task) { return task.x; }

  static Floats Weights(const T* step) { return LoadFloats(step); }
  static Floats Inputs(const float* x) { return SetFloats(*x); }
  static Floats MultiplyAdd(Floats sum, Floats weights, Floats x) { return Fma(x, weights, sum); }
};

struct Bf16Pairs {
  using Weight = Bf16;
  using Input = Bf16;
  static constexpr int64_t kDepth = 2;
  static Rows<Bf16> InputsOf(const MatmulTask& task) { return task.x_bf16; }

  static Bytes Weights(const Bf16* step) { return LoadBytes(step); }
  static Two Inputs(const Bf16* x) { return LoadTwo(x); }
  static Floats MultiplyAdd(Floats sum, const Bytes& weights, Two x) { return DotBf16(sum, weights, x); }
};

// M rows against N panels, for some of the steps: reads the sums from `sums` and writes them back.
template <class F, int M, int N>
inline void DenseTile(const typename F::Input* x, int64_t x_stride, const typename F::Weight* panel, int64_t next_panel,
                      int64_t steps, float* sums) {
  Floats total[M][N];
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) total[m][n] = LoadFloats(sums + m * kSumsStride + n * kPanel);
  }
  for (int64_t k = 0; k < steps; ++k) {
    decltype(F::Weights(panel)) weights[N];
    for (int n = 0; n < N; ++n) weights[n] = F::Weights(panel + n * next_panel + k * kPanel * F::kDepth);
#pragma GCC unroll 8  // a loop over the sums would keep them in memory
    for (int m = 0; m < M; ++m) {
      const auto inputs = F::Inputs(x + m * x_stride + k * F::kDepth);
      for (int n = 0; n < N; ++n) total[m][n] = F::MultiplyAdd(total[m][n], weights[n], inputs);
    }
  }
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) StoreFloats(sums + m * kSumsStride + n * kPanel, total[m][n]);
  }
}

// Results of up to kTaskPanels panels at a time. `add(first panel, panels, sums)` adds to zeros, [rows][kSumsStride],
// at the start of the scratch memory.
template <class Add>
inline void SumPanels(const MatmulTask& task, Add add) {
  auto* sums = reinterpret_cast<float*>(task.scratch);
  for (int64_t first = task.first_panel; first < task.last_panel; first += kTaskPanels) {
    const int64_t panels = std::min(kTaskPanels, task.last_panel - first);
    std::fill_n(sums, task.rows * kSumsStride, 0.0f);
    add(first, panels, sums);
    for (int64_t r = 0; r < task.rows; ++r) {
      std::copy_n(sums + r * kSumsStride, std::min(panels * kPanel, task.outputs - first * kPanel),
                  task.y + r * task.y_stride + first * kPanel);
    }
  }
}

template <class F>
void DenseMatmul(const MatmulTask& task) {
  const auto* weights = reinterpret_cast<const typename F::Weight*>(task.panels);
  const auto inputs = F::InputsOf(task);
  const int64_t steps = (task.inputs + F::kDepth - 1) / F::kDepth;
  const int64_t panel_size = steps * F::kDepth * kPanel;
  // One row streams whole panels; many rows keep a part of some panels in the L1 cache.
  const int64_t piece = task.rows == 1 ? steps : kChunk / 2;
  SumPanels(task, [&](int64_t first, int64_t panels, float* sums) {
    for (int64_t k = 0; k < steps; k += piece) {
      const int64_t count = std::min(piece, steps - k);
      const auto* panel = weights + first * panel_size + k * F::kDepth * kPanel;
      const auto run = [&]<int M, int N>(int64_t row, int64_t n) {
        DenseTile<F, M, N>(inputs.data + row * inputs.stride + k * F::kDepth, inputs.stride, panel + n * panel_size,
                           panel_size, count, sums + row * kSumsStride + n * kPanel);
      };
      if (task.rows == 1 && panels == kTaskPanels) {  // four chains hide the latency of one
        run.template operator()<1, kTaskPanels>(0, 0);
        continue;
      }
      for (int64_t r = 0; r < task.rows; r += kDenseRows) {
        WithRows<kDenseRows>(std::min<int64_t>(kDenseRows, task.rows - r), [&]<int M>() {
          int64_t n = 0;
          for (; n + kDensePanels <= panels; n += kDensePanels) run.template operator()<M, kDensePanels>(r, n);
          if constexpr (kDensePanels > 1) {
            for (; n < panels; ++n) run.template operator()<M, 1>(r, n);
          }
        });
      }
    }
  });
}

inline void RoundToBf16(const float* x, int64_t n, Bf16* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = ToBf16(x[i]);
}

}  // namespace
}  // namespace inferflux::compute::cpu
