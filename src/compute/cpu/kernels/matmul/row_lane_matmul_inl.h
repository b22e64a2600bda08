// Products of int8 activations and weights with whole scales for many rows, with the rows in lanes: bit for bit what
// Int8Matmul makes of them. Included for AVX2, after its lanes header.
//
// Float scales for each block come with more work in floats, and were not faster so (Q4_0 and Q8_0 on Zen 3).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/int8_matmul_inl.h"
#include "compute/cpu/kernels/matmul/row_lane_tile_inl.h"
#include "compute/cpu/ops/lane_chunks.h"

namespace inferflux::compute::cpu {
namespace {

// How many outputs are multiplied at once: two where there are few sums, so that they hide the latency of the units.
template <int V>
constexpr int kOutputsAtOnce = V <= 4 ? 2 : 1;

// rows[r] = from[o * stride + r] for eight outputs o.
inline void TransposeEight(const float* from, int64_t stride, float (*rows)[8]) {
  __m256 in[8];
  for (int o = 0; o < 8; ++o) in[o] = _mm256_loadu_ps(from + o * stride);
  __m256 pairs[8];
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm256_unpacklo_ps(in[2 * i], in[2 * i + 1]);
    pairs[2 * i + 1] = _mm256_unpackhi_ps(in[2 * i], in[2 * i + 1]);
  }
  for (int half = 0; half < 2; ++half) {  // rows 2 * half and 2 * half + 1, and those four further
    const auto fours = [&](int i) {
      const __m256d low = _mm256_castps_pd(pairs[4 * i + half]);
      const __m256d high = _mm256_castps_pd(pairs[4 * i + 2 + half]);
      return std::pair{_mm256_castpd_ps(_mm256_unpacklo_pd(low, high)),
                       _mm256_castpd_ps(_mm256_unpackhi_pd(low, high))};
    };
    const auto [even0, odd0] = fours(0);
    const auto [even1, odd1] = fours(1);
    _mm256_storeu_ps(rows[2 * half], _mm256_permute2f128_ps(even0, even1, 0x20));
    _mm256_storeu_ps(rows[2 * half + 1], _mm256_permute2f128_ps(odd0, odd1, 0x20));
    _mm256_storeu_ps(rows[2 * half + 4], _mm256_permute2f128_ps(even0, even1, 0x31));
    _mm256_storeu_ps(rows[2 * half + 5], _mm256_permute2f128_ps(odd0, odd1, 0x31));
  }
}

// Sums of `rows` rows that lie as [16][stride].
inline void StoreTransposed(const float* sums, int64_t stride, int64_t rows, int64_t outputs, float* y,
                            int64_t y_stride) {
  for (int64_t first = 0; first < rows; first += kLaneRows) {
    alignas(32) float eight[2][kLaneRows][8];
    TransposeEight(sums + first, stride, eight[0]);
    TransposeEight(sums + 8 * stride + first, stride, eight[1]);
    for (int64_t r = first; r < std::min(rows, first + kLaneRows); ++r) {
      for (int half = 0; half < 2; ++half) {
        const int64_t count = std::clamp<int64_t>(outputs - 8 * half, 0, 8);
        float* to = y + r * y_stride + 8 * half;
        if (count == 8) {
          _mm256_storeu_ps(to, _mm256_load_ps(eight[half][r - first]));
        } else {
          std::copy_n(eight[half][r - first], count, to);
        }
      }
    }
  }
}

// The work of one task: chunk by chunk, and in each panel by panel, so that a chunk of activations is fetched once.
template <class F, int V>
class RowLaneTask {
 public:
  using Chunk = typename F::Chunk;
  using Source = typename F::Source;
  using Inputs = RowLaneChunk<V>;

  explicit RowLaneTask(const MatmulTask& task)
      : task_(task),
        panels_(task.last_panel - task.first_panel),
        chunks_((task.inputs + kChunk - 1) / kChunk),
        in_lanes_(std::min<int64_t>(task.rows, Inputs::kRows)),
        sums_(reinterpret_cast<float*>(task.scratch)) {}

  void Run() {
    std::fill_n(sums_, panels_ * kPanelSums, 0.0f);
    for (int64_t step = 0; step < chunks_ * panels_; ++step) {
      const bool last = step / panels_ + 1 == chunks_;
      if (last) FetchResults(step % panels_);
      Multiply(step);
      if (last) Store(step % panels_);
    }
  }

 private:
  static constexpr int64_t kPanelSums = kTaskRows * kPanel;

  // Beyond the task's own the next panels follow, which the next task is likely to take, or nothing.
  const Chunk& ChunkOf(int64_t step) const {
    const int64_t c = step / panels_;
    return ChunkAt<Chunk>(task_, task_.first_panel + step % panels_ + c / chunks_ * panels_, c % chunks_);
  }

  void Multiply(int64_t step) {
    const int64_t c = step / panels_;
    const RowLaneWeights<Source> w(ChunkOf(step));
    Prefetch prefetch(&ChunkOf(step + panels_), sizeof(Chunk));
    const auto& x = *reinterpret_cast<const Inputs*>(task_.lanes + c * task_.lanes_stride);
    float* sums = sums_ + step % panels_ * kPanelSums;
    constexpr int O = kOutputsAtOnce<V>;
    const int64_t step_bytes = prefetch.StepOf(kPanel / O);
    for (int o = 0; o < kPanel; o += O) {
      prefetch.Fetch(step_bytes);
      RowLaneTile<V, O, Source>::Run(w, o, x, sums);
    }
    if (in_lanes_ < task_.rows) {
      const Source packed{ChunkOf(step)};
      const ActivationChunk* rest = task_.activations + c * task_.activation_rows + in_lanes_;
      WithRows<kLaneRows / 2 - 1>(task_.rows - in_lanes_, [&]<int M>() {
        F::template Tile<M>(packed, rest, kBlocks, Prefetch(), sums + in_lanes_ * kPanel, kPanel);
      });
    }
  }

  float* Results(int64_t p) const { return task_.y + (task_.first_panel + p) * kPanel; }

  // One line a row, far apart.
  void FetchResults(int64_t p) const {
    for (int64_t r = 0; r < task_.rows; ++r) __builtin_prefetch(Results(p) + r * task_.y_stride, 1, 3);
  }

  void Store(int64_t p) const {
    const int64_t outputs = std::min<int64_t>(kPanel, task_.outputs - (task_.first_panel + p) * kPanel);
    const float* sums = sums_ + p * kPanelSums;
    float* y = Results(p);
    StoreTransposed(sums, Inputs::kRows, in_lanes_, outputs, y, task_.y_stride);
    StorePanel(sums + in_lanes_ * kPanel, task_.rows - in_lanes_, outputs, y + in_lanes_ * task_.y_stride,
               task_.y_stride);
  }

  const MatmulTask& task_;
  const int64_t panels_;
  const int64_t chunks_;
  const int64_t in_lanes_;  // rows; the others, too few to fill a vector by half, are multiplied one by one
  float* const sums_;       // [panel][16][V * 8], and behind those of a panel its other rows' [row][16]
};

template <class F>
void RowLaneMatmul(const MatmulTask& task) {
  const int64_t vectors = task.lanes == nullptr ? 0 : LaneVectorsOf(task.rows);
  if (vectors == 0) return Int8Matmul<F>(task);
  WithRows<kLaneVectors>(vectors, [&]<int V>() {
    if constexpr (V >= kFewestLaneVectors) RowLaneTask<F, V>(task).Run();
  });
}

}  // namespace
}  // namespace inferflux::compute::cpu
