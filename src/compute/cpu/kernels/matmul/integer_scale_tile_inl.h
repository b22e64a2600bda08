// Rows of int8 activations times a chunk of weights with integer scales: exact in int32 until the chunk's float scale.
// Included once per instruction set, after its lanes header.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compute/cpu/kernels/matmul/activation_chunks.h"
#include "compute/cpu/kernels/simd/prefetch.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {
namespace {

// The initial value of a sub-block's sum: activations store it for an offset of 32.
template <class Source>
inline int32_t OffsetOf(const ActivationChunk& x, int sub) {
  if constexpr (Source::kMinimums || !kSumsHoldOffsets) {
    return 0;
  } else {
    return Source::kOffset / 32 * x.offsets[sub];
  }
}

// low[m] += the sums of 16 activations, times an integer for each sub-block. For int16 sums.
template <int M, class FactorOf>
inline void AddSumsOf16(const ActivationChunk* x, const FactorOf& factor, Ints* low) {
  for (int two = 0; two < kSubs16 / 2; ++two) {
    const Pairs factors = PairOf(factor(2 * two), factor(2 * two + 1));
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) low[m] = DotPairs(low[m], factors, x[m].sums16 + 2 * two);
  }
}

// total[m] += the scaled sums of the sub-blocks of a chunk, one by one. kRun groups of four are added up before they
// are scaled.
template <int M, int kRun, class Source>
inline void AddSubs(const Source& w, const ActivationChunk* x, Prefetch prefetch, Ints* total) {
  constexpr int kSubsInBlock = Source::kSubs / kBlocks;
  constexpr int kGroups = 8 / kSubsInBlock;
  const int64_t step = prefetch.StepOf(kBlocks);
  for (int b = 0; b < kBlocks; ++b) {
    prefetch.Fetch(step);
#pragma GCC unroll 2
    for (int h = 0; h < kSubsInBlock; ++h) {
      const int sub = kSubsInBlock * b + h;
      const ScalePairs scale = w.Scale(sub);
#pragma GCC unroll 4
      for (int run = 0; run < kGroups; run += kRun) {
        Sums sum[M];
        for (int m = 0; m < M; ++m) sum[m] = StartSums(OffsetOf<Source>(x[m], sub));
#pragma GCC unroll 8
        for (int i = 0; i < kRun; ++i) {
          const int g = kGroups * h + run + i;
          const Bytes weights = w.Group(b, g);
          for (int m = 0; m < M; ++m) sum[m] = AddGroup(sum[m], weights, LoadQuad(x[m].q + kBlock * b + kGroup * g));
        }
        for (int m = 0; m < M; ++m) total[m] = AddScaled(total[m], sum[m], scale);
      }
    }
  }
}

// The same for an unpacked chunk with int16 sums.
template <int M, int kRun, class Source>
requires(!kSumsHoldOffsets) inline void AddSubs(const UnpackedWeights<Source>& w, const ActivationChunk* x,
                                                Prefetch prefetch, Ints* total) {
  constexpr int kSubsInBlock = Source::kSubs / kBlocks;
  constexpr int kGroups = 8 / kSubsInBlock;
  const int64_t step = prefetch.StepOf(kBlocks);
#pragma GCC unroll 1
  for (int b = 0; b < kBlocks; ++b) {
    prefetch.Fetch(step);
#pragma GCC unroll 8
    for (int run = 0; run < 8; run += kRun) {
      Sums sum[M];
#pragma GCC unroll 8
      for (int g = run; g < run + kRun; ++g) {
        const Bytes weights = LoadBytes(w.groups[8 * b + g]);
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m) {
          const Quad inputs = LoadQuad(x[m].q + kBlock * b + kGroup * g);
          sum[m] = g == run ? FirstGroup(weights, inputs) : AddGroup(sum[m], weights, inputs);
        }
      }
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) total[m] = AddScaled(total[m], sum[m], w.Scale(kSubsInBlock * b + run / kGroups));
    }
  }
}

// The same with int16 sums: each covers a whole sub-block if the activations are small enough, else as many groups as
// always fit.
template <int M, class Source>
inline void AddInt16Subs(const Source& w, const ActivationChunk* x, Prefetch prefetch, Ints* total) {
  constexpr int kGroups = kChunk / kGroup / Source::kSubs;
  constexpr int kRun = std::min(kGroups, SumGroups(Source::kMost));
  bool fit = kRun < kGroups;
  for (int m = 0; m < M && fit; ++m) {
    fit = (Source::kSubs == kSubs16 ? x[m].highest8 : x[m].highest32) * Source::kMost <= INT16_MAX;
  }
  if constexpr (M == 1) {
    AddSubs<M, kRun>(w, x, prefetch, total);
  } else {
    fit ? AddSubs<M, kGroups>(w, x, prefetch, total) : AddSubs<M, kRun>(w, x, prefetch, total);
  }
  if constexpr (!Source::kMinimums) {
    Ints low[M];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) low[m] = ZeroInts();
    AddSumsOf16<M>(
        x, [&](int sub) { return w.Scale(sub); }, low);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) total[m] = MulAdd(low[m], SetInts(-Source::kOffset), total[m]);
  }
}

// Whether the sum of each sub-block fits int16.
template <int M, class Source>
inline bool FitPairs(const ActivationChunk* x) {
  bool fit = true;
  for (int m = 0; m < M; ++m) {
    if constexpr (Source::kMinimums) {
      fit &= x[m].highest32 * Source::kMost <= INT16_MAX;
    } else {
      fit &= x[m].highest16 * Source::kOffset <= INT16_MAX;
    }
  }
  return fit;
}

// The same for two sub-blocks at a time, whose sums are multiplied by their scales together, if FitPairs: this
// halves the time on the unit that multiplies bytes.
template <int M, class Source>
inline void AddPairsOfSubs(const Source& w, const ActivationChunk* x, Prefetch prefetch, Ints* total) {
  constexpr int kGroups = kChunk / kGroup / Source::kSubs;
  const int64_t step = prefetch.StepOf(kBlocks);
  for (int two = 0; two < Source::kSubs / 2; ++two) {
    Ints sum[2][M];
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const int sub = 2 * two + h;
      if (h == 0 || Source::kSubs == kBlocks) prefetch.Fetch(step);  // once per block
      for (int m = 0; m < M; ++m) sum[h][m] = SetInts(OffsetOf<Source>(x[m], sub));
#pragma GCC unroll 8
      for (int i = 0; i < kGroups; ++i) {
        const int group = (Source::kSubs == kSubs16 ? kGroups * h : 0) + i;  // index in the block
        const int block = Source::kSubs == kSubs16 ? two : sub;
        const Bytes weights = w.Group(block, group);
        for (int m = 0; m < M; ++m) {
          sum[h][m] = Dot(sum[h][m], weights, LoadQuad(x[m].q + kBlock * block + kGroup * group));
        }
      }
    }
    const Pairs scales = PairOf(w.Scale(2 * two), w.Scale(2 * two + 1));
    for (int m = 0; m < M; ++m) total[m] = DotPairs(total[m], PairOf(sum[0][m], sum[1][m]), scales);
  }
}

// The minimums times the sums of activations, as integers, and their float scale.
template <int M, class Source>
inline void AddMinimums(const Source& w, const ActivationChunk* x, Ints* low) {
  if constexpr (Source::kSubs == kBlocks) {
#pragma GCC unroll 4
    for (int two = 0; two < kBlocks / 2; ++two) {
      const Pairs minimums = w.Minimums(two);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) low[m] = DotPairs(low[m], minimums, x[m].sums + 2 * two);
    }
  } else if constexpr (kSumsHoldOffsets) {
    for (int sub = 0; sub < kSubs16; ++sub) {
      for (int m = 0; m < M; ++m) low[m] = AddScaledOffset(low[m], x[m].offsets[sub], w.Minimum(sub));
    }
  } else {
    AddSumsOf16<M>(
        x, [&](int sub) { return w.Minimum(sub); }, low);
  }
}
template <class Source>
inline Floats MinimumsScale(const Source& w) {
  if constexpr (Source::kSubs == kBlocks) {
    return w.NegativeMinimumsScale();
  } else {
    return Mul(w.MinimumsScale(), SetFloats(kSumsHoldOffsets ? 1.0f / 32 : -1.0f));  // offsets are -32 times the sums
  }
}

// sums[m] += the chunk's scaled integer sums, minus its minimums.
template <int M, class Source>
inline void AddChunk(const Source& w, const ActivationChunk* x, const Ints* total, float* sums, int64_t stride) {
  Ints low[M];
  if constexpr (Source::kMinimums) {
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) low[m] = ZeroInts();
    AddMinimums<M>(w, x, low);
  }
  const Floats d = w.D();
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
    Floats sum = Mul(ToFloats(total[m]), d);
    if constexpr (Source::kMinimums) sum = Fma(ToFloats(low[m]), MinimumsScale(w), sum);
    StoreFloats(sums + m * stride, Fma(sum, SetFloats(x[m].scales[0]), LoadFloats(sums + m * stride)));
  }
}

// The same as BlocksTile with an integer scale per sub-block, one float scale per chunk, and perhaps minimums.
template <int M, class Source>
inline void ChunkTile(const Source& w, const ActivationChunk* x, Prefetch prefetch, float* sums, int64_t stride) {
  constexpr int kGroups = kChunk / kGroup / Source::kSubs;
  Ints total[M];
  for (int m = 0; m < M; ++m) total[m] = ZeroInts();
  if constexpr (!kSumsHoldOffsets) {
    AddInt16Subs<M>(w, x, prefetch, total);
  } else if constexpr (kPairedSums) {
    FitPairs<M, Source>(x) ? AddPairsOfSubs<M>(w, x, prefetch, total) : AddSubs<M, kGroups>(w, x, prefetch, total);
  } else {
    AddSubs<M, kGroups>(w, x, prefetch, total);
  }
  AddChunk<M>(w, x, total, sums, stride);
}

}  // namespace
}  // namespace inferflux::compute::cpu
