// Rows in lanes times a chunk of weights: bit for bit what a tile of rows with outputs in lanes makes of them. The
// bytes that are multiplied come from memory as operands, where outputs in lanes take an instruction to repeat four of
// them. Included for AVX2, after its lanes header.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "compute/cpu/kernels/matmul/row_lane_weights_inl.h"
#include "compute/cpu/kernels/matmul/unpacked_weights_inl.h"
#include "compute/cpu/packing/packed_panels.h"

namespace inferflux::compute::cpu {
namespace {

inline __m256i Repeat4(const void* p) { return LoadQuad(static_cast<const int8_t*>(p)); }
inline __m256 RepeatFloat(const void* p) { return _mm256_castsi256_ps(Repeat4(p)); }

// sum + the products of bytes, in this order (AddMatmuls); `inputs` is read where it lies.
inline __m256i AddMatmulsOf(__m256i sum, __m256i weights, const int8_t* inputs) {
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

  // sums[output][row] += the chunk's products, for the outputs from `output` on.
  static void Run(const Weights& w, int output, const Inputs& x, float* sums) {
    RowLaneTile(w, output, x).Multiply(sums + output * Inputs::kRows);
  }

 private:
  using Vectors = __m256i[O][V];

  RowLaneTile(const Weights& w, int output, const Inputs& x) : w_(w), output_(output), x_(x) {}

  // sums = the products of groups [first, first + kRun) of block b.
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
              g == first ? _mm256_maddubs_epi16(weights, Load256(inputs)) : AddMatmulsOf(sums[o][v], weights, inputs);
        }
      }
    }
  }

  // total += the sums of all sub-blocks times their scales; kRun groups are added up before a scale comes in.
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

  // Each sum takes a whole sub-block where the activations leave room for it, and else as much as always fits.
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

}  // namespace
}  // namespace inferflux::compute::cpu
