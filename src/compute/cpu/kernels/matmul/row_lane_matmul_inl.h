// Matmuls of int8 activations and weights with integer scales for many rows, with the rows in lanes. Results are
// bit-identical to Int8Matmul's, which has the outputs in lanes. The bytes to multiply are memory operands here; with
// outputs in lanes, an extra instruction has to broadcast four of them. Included for AVX2, after its lanes header.
//
// Formats with float scales per block have more float operations, and gained nothing (Q4_0 and Q8_0 on Zen 3).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "compute/cpu/kernels/kernel_table.h"
#include "compute/cpu/kernels/matmul/int8_matmul_inl.h"

namespace inferflux::compute::cpu {
namespace {

// A chunk of weights unpacked once: four inputs of an output are ready to be broadcast to all lanes.
template <class Source>
struct RowLaneWeights {
  static constexpr int kSubs = Source::kSubs;
  static constexpr int kPairs = kSubs / 2;

  // By group of inputs, or sub-block, or pair of these, and by output.
  alignas(64) uint8_t groups[kChunk / kGroup][kGroupBytes];
  alignas(64) int32_t scales[kSubs][kPanel];  // each is an int16 twice
  // ScalePairs for the sums of activations, an int16 for each of two sub-blocks: minimums, or scales if weights have an
  // offset.
  alignas(64) int32_t pairs[kPairs][kPanel];
  alignas(64) float d[kPanel];
  alignas(64) float minimums_scale[kPanel];  // only if there are minimums

  explicit RowLaneWeights(const auto& chunk) {
    const Source packed(chunk);
    for (int block = 0; block < kBlocks; ++block) {
#pragma GCC unroll 8  // so that shifts are constants
      for (int g = 0; g < 8; ++g) StoreBytes(groups[8 * block + g], packed.Group(block, g));
    }
    for (int sub = 0; sub < kSubs; ++sub) StoreBytes(scales[sub], packed.Scale(sub));
    for (int two = 0; two < kPairs; ++two) {
      if constexpr (kSubs == kBlocks) {
        StoreBytes(pairs[two], packed.Minimums(two));
      } else if constexpr (Source::kMinimums) {
        StoreBytes(pairs[two], PairOf(packed.Minimum(2 * two), packed.Minimum(2 * two + 1)));
      } else {
        StoreBytes(pairs[two], PairOf(packed.Scale(2 * two), packed.Scale(2 * two + 1)));
      }
    }
    StoreFloats(d, packed.D());
    if constexpr (Source::kMinimums) StoreFloats(minimums_scale, MinimumsScale(packed));
  }
};

inline __m256i Repeat4(const void* p) { return LoadQuad(static_cast<const int8_t*>(p)); }
inline __m256 RepeatFloat(const void* p) { return _mm256_castsi256_ps(Repeat4(p)); }

// sum + byte multiplications, in this order (AddProducts); `inputs` is a memory operand.
inline __m256i AddProductsOf(__m256i sum, __m256i weights, const int8_t* inputs) {
  __m256i products;
  asm volatile("vpmaddubsw %[inputs], %[weights], %[products]\n\tvpaddw %[products], %[sum], %[sum]"
               : [sum] "+x"(sum), [products] "=&x"(products)
               : [weights] "x"(weights), [inputs] "m"(*reinterpret_cast<const __m256i*>(inputs)));
  return sum;
}

// V vectors of rows times O outputs.
template <int V, int O, class Source>
class RowLaneTile {
 public:
  using Weights = RowLaneWeights<Source>;
  using Inputs = RowLaneChunk<V>;

  // sums[output][row] += the chunk's result, for the outputs from `output` on.
  static void Run(const Weights& w, int output, const Inputs& x, float* sums) {
    RowLaneTile(w, output, x).Multiply(sums + output * Inputs::kRows);
  }

 private:
  using Vectors = __m256i[O][V];

  RowLaneTile(const Weights& w, int output, const Inputs& x) : w_(w), output_(output), x_(x) {}

  // sums = the byte dot products of groups [first, first + kRun) of block b.
  template <int kRun>
  [[gnu::always_inline]] void MultiplyGroups(int b, int first, Vectors& sums) const {
#pragma GCC unroll 8
    for (int g = first; g < first + kRun; ++g) {
#pragma GCC unroll 8
      for (int o = 0; o < O; ++o) {
        const __m256i weights = Repeat4(w_.groups[8 * b + g] + kGroup * (output_ + o));
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) {
          const int8_t* inputs = x_.q[8 * b + g][v * kLaneRows];
          sums[o][v] =
              g == first ? _mm256_maddubs_epi16(weights, Load256(inputs)) : AddProductsOf(sums[o][v], weights, inputs);
        }
      }
    }
  }

  // total += the sums of all sub-blocks times their scales; kRun groups are added up before they are scaled.
  template <int kRun>
  [[gnu::always_inline]] void AddSubs(Vectors& total) const {
    constexpr int kSubsInBlock = Weights::kSubs / kBlocks;
    constexpr int kGroups = 8 / kSubsInBlock;
#pragma GCC unroll 1
    for (int b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 8
      for (int run = 0; run < 8; run += kRun) {
        Vectors sums;
        MultiplyGroups<kRun>(b, run, sums);
#pragma GCC unroll 8
        for (int o = 0; o < O; ++o) {
          const __m256i scale = Repeat4(&w_.scales[kSubsInBlock * b + run / kGroups][output_ + o]);
#pragma GCC unroll 8
          for (int v = 0; v < V; ++v) {
            total[o][v] = _mm256_add_epi32(total[o][v], _mm256_madd_epi16(sums[o][v], scale));
          }
        }
      }
    }
  }

  // Each sum covers a whole sub-block if the activations are small enough, else as many groups as always fit.
  [[gnu::always_inline]] void AddAllSubs(Vectors& total) const {
    constexpr int kGroups = kChunk / kGroup / Weights::kSubs;
    constexpr int kRun = std::min(kGroups, SumGroups(Source::kMost));
    if constexpr (kRun == kGroups) {
      AddSubs<kRun>(total);
    } else if ((Weights::kSubs == kSubs16 ? x_.highest8 : x_.highest32) * Source::kMost <= INT16_MAX) {
      AddSubs<kGroups>(total);
    } else {
      AddSubs<kRun>(total);
    }
  }

  // low = the sums of activations times the minimums, or scales, of their sub-blocks.
  [[gnu::always_inline]] void MultiplySums(Vectors& low) const {
#pragma GCC unroll 8
    for (int two = 0; two < Weights::kPairs; ++two) {
#pragma GCC unroll 8
      for (int o = 0; o < O; ++o) {
        const __m256i factors = Repeat4(&w_.pairs[two][output_ + o]);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) {
          const auto* sums = Weights::kSubs == kBlocks ? x_.sums[two] : x_.sums16[two];
          const __m256i products = _mm256_madd_epi16(factors, Load256(sums + v * kLaneRows));
          low[o][v] = two == 0 ? products : _mm256_add_epi32(low[o][v], products);
        }
      }
    }
  }

  void Multiply(float* sums) const {
    Vectors total;
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) total[o][v] = _mm256_setzero_si256();
    }
    AddAllSubs(total);
    Vectors low;
    MultiplySums(low);
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o) {
      const __m256 d = RepeatFloat(w_.d + output_ + o);
      const __m256 minimums_scale =
          Source::kMinimums ? RepeatFloat(w_.minimums_scale + output_ + o) : _mm256_setzero_ps();
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        __m256i whole = total[o][v];
        if constexpr (!Source::kMinimums) {
          constexpr int kShift = std::countr_zero(static_cast<unsigned>(Source::kOffset));
          whole = _mm256_sub_epi32(whole, _mm256_slli_epi32(low[o][v], kShift));
        }
        __m256 sum = _mm256_mul_ps(_mm256_cvtepi32_ps(whole), d);
        if constexpr (Source::kMinimums) sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(low[o][v]), minimums_scale, sum);
        float* to = sums + o * Inputs::kRows + v * kLaneRows;
        const __m256 scale = _mm256_load_ps(x_.scales + v * kLaneRows);
        _mm256_storeu_ps(to, _mm256_fmadd_ps(sum, scale, _mm256_loadu_ps(to)));
      }
    }
  }

  const Weights& w_;
  const int output_;
  const Inputs& x_;
};

// Outputs that are multiplied at once: two if there are few sums, to hide the latency of the units.
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
  for (int half = 0; half < 2; ++half) {  // rows 2 * half and 2 * half + 1, and the rows four after them
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

// sums: [16][stride], for `rows` rows.
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

// The work of one task: chunk by chunk, and within a chunk panel by panel, so that activations are fetched once.
template <class F, int V>
class RowLaneTask {
 public:
  using Chunk = typename F::Chunk;
  using Source = Unpacker<F>;
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

  // After the task's own panels come the next ones, which the next task is likely to take, or nothing.
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
      const Source packed(ChunkOf(step));
      const ActivationChunk* rest = task_.activations + c * task_.activation_rows + in_lanes_;
      WithRows<kLaneRows / 2 - 1>(task_.rows - in_lanes_, [&]<int M>() {
        MultiplyTile<F, M>(packed, rest, kBlocks, Prefetch(), sums + in_lanes_ * kPanel, kPanel);
      });
    }
  }

  float* Results(int64_t p) const { return task_.y + (task_.first_panel + p) * kPanel; }

  // One cache line per row, far apart.
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
  const int64_t in_lanes_;  // rows; the rest, less than half a vector, is multiplied row by row
  float* const sums_;       // [panel][16][V * 8], followed, in each panel, by the remaining rows' [row][16]
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
