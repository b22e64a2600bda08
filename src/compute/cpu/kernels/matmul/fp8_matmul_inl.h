// Matmuls with 8-bit floats with scales. A weight is rounded to a float before it is multiplied, and sums are added up
// as for dense weights (dense_matmul_inl.h): results are bit-identical to those of F32 weights with the same values.
// Included once per instruction set, after its lanes header.
#pragma once

#include <algorithm>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/dense_matmul_inl.h"

namespace inferflux::compute::cpu {
namespace {

inline Floats Weights(const ChunkedFp8::Chunk& chunk, int64_t input, Floats scales) {
  return Mul(LoadDownscaled(chunk.q[input]), scales);
}

// One row against N panels: streams them, with each sum in a register until its end.
template <int N>
inline void Fp8Row(const MatmulTask& task, int64_t first, float* sums) {
  Floats total[N];
  for (int n = 0; n < N; ++n) total[n] = ZeroFloats();
  for (int64_t done = 0, c = 0; done < task.inputs; done += kFp8Inputs, ++c) {
    const int64_t steps = std::min<int64_t>(kFp8Inputs, task.inputs - done);
    const ChunkedFp8::Chunk* chunks[N];
    Floats scales[N];
    for (int n = 0; n < N; ++n) {
      chunks[n] = reinterpret_cast<const ChunkedFp8::Chunk*>(task.panels + (first + n) * task.panel_bytes) + c;
      scales[n] = LoadFloats(chunks[n]->scales);
    }
    for (int64_t k = 0; k < steps; ++k) {
      const Floats x = SetFloats(task.x.data[done + k]);
#pragma GCC unroll 8  // a loop over the sums would keep them in memory
      for (int n = 0; n < N; ++n) total[n] = Fma(x, Weights(*chunks[n], k, scales[n]), total[n]);
    }
  }
  for (int n = 0; n < N; ++n) StoreFloats(sums + n * kPanel, total[n]);
}

// Many rows: a chunk of some panels is converted to floats in the L1 cache, and all rows are multiplied there.
template <int N>
inline void Fp8Rows(const MatmulTask& task, int64_t first, float* sums, float* widened) {
  for (int64_t done = 0, c = 0; done < task.inputs; done += kFp8Inputs, ++c) {
    const int64_t steps = std::min<int64_t>(kFp8Inputs, task.inputs - done);
    for (int n = 0; n < N; ++n) {
      const auto& chunk = reinterpret_cast<const ChunkedFp8::Chunk*>(task.panels + (first + n) * task.panel_bytes)[c];
      const Floats scales = LoadFloats(chunk.scales);
      for (int64_t k = 0; k < steps; ++k) {
        StoreFloats(widened + (n * kFp8Inputs + k) * kPanel, Weights(chunk, k, scales));
      }
    }
    for (int64_t r = 0; r < task.rows; r += kDenseRows) {
      WithRows<kDenseRows>(std::min<int64_t>(kDenseRows, task.rows - r), [&]<int M>() {
        DenseTile<Widened<float>, M, N>(task.x.data + r * task.x.stride + done, task.x.stride, widened,
                                        kFp8Inputs * kPanel, steps, sums + r * kSumsStride);
      });
    }
  }
}

inline void Fp8Matmul(const MatmulTask& task) {
  static_assert(kTileScratchBytes >= kDensePanels * kFp8Inputs * kPanel * static_cast<int64_t>(sizeof(float)));
  auto* widened = reinterpret_cast<float*>(task.scratch + kSumBytes);
  SumPanels(task, [&](int64_t first, int64_t panels, float* sums) {
    int64_t n = 0;
    if (task.rows == 1) {
      if (panels == kTaskPanels) {  // four chains hide the latency of one
        Fp8Row<kTaskPanels>(task, first, sums);
        return;
      }
      for (; n < panels; ++n) Fp8Row<1>(task, first + n, sums + n * kPanel);
    }
    for (; n + kDensePanels <= panels; n += kDensePanels) {
      Fp8Rows<kDensePanels>(task, first + n, sums + n * kPanel, widened);
    }
    for (; n < panels; ++n) Fp8Rows<1>(task, first + n, sums + n * kPanel, widened);
  });
}

}  // namespace
}  // namespace inferflux::compute::cpu
