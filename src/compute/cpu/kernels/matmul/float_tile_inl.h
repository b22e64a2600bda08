// The float kernel of dense weights and of both matmuls of attention: sums[m][n] += a[m][k] * b[k][n], k ascending, one
// fused multiply-add per step. Each sum is one chain, so it does not depend on the tile that it is part of. Included
// once per instruction set, after its lanes header.
#pragma once

#include <cstdint>

namespace inferflux::compute::cpu {
namespace {

// M rows of a against N vectors of 16 of b; the sums stay in registers between calls of Run.
template <int M, int N>
struct FloatTile {
  Floats sums[M][N];

  void Load(const float* from, int64_t stride) {
    for (int m = 0; m < M; ++m) {
      for (int n = 0; n < N; ++n) sums[m][n] = LoadFloats(from + m * stride + n * 16);
    }
  }
  void Store(float* to, int64_t stride) const {
    for (int m = 0; m < M; ++m) {
      for (int n = 0; n < N; ++n) StoreFloats(to + m * stride + n * 16, sums[m][n]);
    }
  }
  void Clear() {
    for (int m = 0; m < M; ++m) {
      for (int n = 0; n < N; ++n) sums[m][n] = ZeroFloats();
    }
  }
  // sums[m][i] *= by[i], for each column i.
  void MultiplyColumns(const float* by) {
    for (int n = 0; n < N; ++n) {
      const Floats factors = LoadFloats(by + n * 16);
      for (int m = 0; m < M; ++m) sums[m][n] = Mul(sums[m][n], factors);
    }
  }
  // Step k reads a[m * a_stride + k] and the 16 elements at b[k * b_step + n * b_next], for each n.
  template <class T>
  void Run(const float* a, int64_t a_stride, const T* b, int64_t b_step, int64_t b_next, int64_t steps) {
    for (int64_t k = 0; k < steps; ++k) {
      Floats right[N];
      for (int n = 0; n < N; ++n) right[n] = LoadFloats(b + k * b_step + n * b_next);
#pragma GCC unroll 8  // a loop over the sums would keep them in memory
      for (int m = 0; m < M; ++m) {
        const Floats left = SetFloats(a[m * a_stride + k]);
        for (int n = 0; n < N; ++n) sums[m][n] = Fma(left, right[n], sums[m][n]);
      }
    }
  }
};

// Calls f.operator()<M>() for M = rows, which must be 1 to kMost.
template <int kMost, class F>
inline void WithRows(int64_t rows, const F& f) {
  if constexpr (kMost > 1) {
    if (rows < kMost) return WithRows<kMost - 1>(rows, f);
  }
  f.template operator()<kMost>();
}

// Calls f.operator()<M>(first row, tile) for tiles of M rows, at most kMost, as even as possible.
template <int kMost, class F>
inline void ForTiles(int64_t rows, const F& f) {
  const int64_t tiles = (rows + kMost - 1) / kMost;
  for (int64_t tile = 0, first = 0; tile < tiles; ++tile) {
    const int64_t size = rows / tiles + (tile < rows % tiles ? 1 : 0);
    WithRows<kMost>(size, [&]<int M>() { f.template operator()<M>(first, tile); });
    first += size;
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
