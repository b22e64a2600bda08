// Rows of int8 activations times a chunk of weights with integer scales: exact in int32 until the chunk's own scale.
// Included once an instruction set, after its lanes header.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compute/cpu/isa/ahead.h"
#include "compute/cpu/isa/weight_sources_inl.h"
#include "compute/cpu/packed_panels.h"

namespace inferflux::compute::cpu {
namespace {

// What a sub-block's sum starts from: activations keep it for an offset of 32.
template <class Source>
inline int32_t OffsetOf(const ActivationChunk& x, int sub) {
  if constexpr (Source::kMinimums) {
    return 0;
  } else {
    return Source::kOffset / 32 * x.offsets[sub];
  }
}

// total[m] += the scaled sums of the sub-blocks of a chunk, one by one.
template <int M, class Source>
inline void AddSubs(const Source& w, const ActivationChunk* x, Ahead ahead, Ints* total) {
  constexpr int kSubsInBlock = Source::kSubs / kBlocks;
  constexpr int kGroups = 8 / kSubsInBlock;
  constexpr int kRun =
      std::min(kGroups, SumGroups(Source::kMost));  // groups that are summed up before a scale comes in
  const int64_t step = ahead.StepOf(kBlocks);
  for (int b = 0; b < kBlocks; ++b) {
    ahead.Fetch(step);
#pragma GCC unroll 2
    for (int h = 0; h < kSubsInBlock; ++h) {
      const int sub = kSubsInBlock * b + h;
      const Factors scale = w.Scale(sub);
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
      if constexpr (!Source::kMinimums && !kSumsHoldOffsets) {
        for (int m = 0; m < M; ++m) total[m] = AddScaledOffset(total[m], OffsetOf<Source>(x[m], sub), scale);
      }
    }
  }
}

// Whether the sum of each sub-block is an int16.
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

// The same for two sub-blocks at a time, whose sums are multiplied with their scales at once, where FitPairs: that
// takes the unit that multiplies bytes half as long.
template <int M, class Source>
inline void AddPairsOfSubs(const Source& w, const ActivationChunk* x, Ahead ahead, Ints* total) {
  constexpr int kGroups = kChunk / kGroup / Source::kSubs;
  const int64_t step = ahead.StepOf(kBlocks);
  for (int two = 0; two < Source::kSubs / 2; ++two) {
    Ints sum[2][M];
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const int sub = 2 * two + h;
      if (h == 0 || Source::kSubs == kBlocks) ahead.Fetch(step);  // once a block
      for (int m = 0; m < M; ++m) sum[h][m] = SetInts(OffsetOf<Source>(x[m], sub));
#pragma GCC unroll 8
      for (int i = 0; i < kGroups; ++i) {
        const int group = (Source::kSubs == kSubs16 ? kGroups * h : 0) + i;  // of the block
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

// The same as BlocksTile with integer scales a sub-block, one float scale a chunk, and perhaps minimums.
template <int M, class Source>
inline void ChunkTile(const Source& w, const ActivationChunk* x, Ahead ahead, float* sums, int64_t stride) {
  Ints total[M];
  for (int m = 0; m < M; ++m) total[m] = ZeroInts();
  if constexpr (kPairedSums) {
    FitPairs<M, Source>(x) ? AddPairsOfSubs<M>(w, x, ahead, total) : AddSubs<M>(w, x, ahead, total);
  } else {
    AddSubs<M>(w, x, ahead, total);
  }
  const Floats d = w.D();
  for (int m = 0; m < M; ++m) {
    Floats sum = Mul(ToFloats(total[m]), d);
    if constexpr (Source::kMinimums) {
      Ints low = ZeroInts();
      if constexpr (Source::kSubs == kSubs16) {
        for (int sub = 0; sub < kSubs16; ++sub) low = AddScaledOffset(low, x[m].offsets[sub], w.Minimum(sub));
      } else {
        for (int two = 0; two < kBlocks / 2; ++two) low = DotPairs(low, w.Minimums(two), x[m].sums + 2 * two);
      }
      sum = Fma(ToFloats(low), w.MinimumsScale(), sum);
    }
    StoreFloats(sums + m * stride, Fma(sum, SetFloats(x[m].scales[0]), LoadFloats(sums + m * stride)));
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
