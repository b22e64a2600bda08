// Rows of int8 activations times a chunk of weights with a float scale for each block of 32. Included once per
// instruction set, after its lanes header.
#pragma once

#include <algorithm>

#include "compute/cpu/kernels/matmul/activation_chunks.h"
#include "compute/cpu/kernels/simd/prefetch.h"
#include "compute/cpu/weight_formats/unpack_inl.h"

namespace inferflux::compute::cpu {
namespace {

// total[m] += the scaled int32 sums of part `part`, and the minimum of its block b if there is one.
template <int M, class Source>
inline void AddBlock(const Source& w, const ActivationChunk* x, int b, int part, const Ints* dot, Floats* total) {
  const Floats d = w.Scale(part);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) total[m] = Fma(ToFloats(dot[m]), Mul(d, SetFloats(x[m].scales[b])), total[m]);
  if constexpr (Source::kMinimums) {
    const Floats minimum = w.Minimum(b);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
      total[m] = Fma(minimum, SetFloats(x[m].scales[b] * static_cast<float>(x[m].sums[b])), total[m]);
    }
  }
}

// sums[m] += M rows times a chunk of one panel, with one scale per block or part of it, and perhaps a minimum. `x` is
// the first row's chunk; rows are adjacent. `prefetch` has the share of a later chunk to prefetch meanwhile.
template <int M, class Source>
inline void BlocksTile(const Source& w, const ActivationChunk* x, int blocks, Prefetch prefetch, float* sums,
                       int64_t stride) {
  constexpr int kParts = PartsOfBlock<Source>();
  constexpr int kGroups = 8 / kParts;
  Floats total[M];
  for (int m = 0; m < M; ++m) total[m] = LoadFloats(sums + m * stride);
  const int64_t step = prefetch.StepOf(kBlocks);
  for (int b = 0; b < blocks; ++b) {
    prefetch.Fetch(step);
#pragma GCC unroll 2
    for (int h = 0; h < kParts; ++h) {
      const int part = kParts * b + h;
      const auto inputs = [&](int m, int g) { return LoadQuad(x[m].q + kBlock * b + kGroup * g); };
      Ints dot[M];
      if constexpr (Source::kSigned) {
        for (int m = 0; m < M; ++m) dot[m] = SetInts(x[m].offsets[part]);
#pragma GCC unroll 8
        for (int g = 0; g < kGroups; ++g) {
          const Bytes weights = w.Group(b, kGroups * h + g);
          for (int m = 0; m < M; ++m) dot[m] = DotSigned(dot[m], weights, inputs(m, kGroups * h + g));
        }
      } else {
        constexpr int kRun = std::min(kGroups, SumGroups(Source::kMost));
#pragma GCC unroll 2
        for (int run = 0; run < kGroups; run += kRun) {
          // Each sum starts with the offset.
          const auto offset = [&](int m) { return Source::kMinimums ? 0 : x[m].offsets[part]; };
          Sums sum[M];
          for (int m = 0; m < M; ++m) sum[m] = StartSums(offset(m));
#pragma GCC unroll 8
          for (int i = 0; i < kRun; ++i) {
            const int g = kGroups * h + run + i;
            const Bytes weights = w.Group(b, g);
            for (int m = 0; m < M; ++m) sum[m] = AddGroup(sum[m], weights, inputs(m, g));
          }
          for (int m = 0; m < M; ++m) dot[m] = run == 0 ? Widen(sum[m], offset(m)) : AddSums(dot[m], sum[m]);
        }
      }
      AddBlock<M>(w, x, b, part, dot, total);
    }
  }
  for (int m = 0; m < M; ++m) StoreFloats(sums + m * stride, total[m]);
}

// The same for an unpacked chunk with int16 sums.
template <int M, class Source>
requires(!kSumsHoldOffsets) inline void BlocksTile(const UnpackedWeights<Source>& w, const ActivationChunk* x,
                                                   int blocks, Prefetch prefetch, float* sums, int64_t stride) {
  constexpr int kParts = PartsOfBlock<Source>();
  constexpr int kGroups = 8 / kParts;
  constexpr int kRun = std::min(kGroups, SumGroups(Source::kMost));
  Floats total[M];
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) total[m] = LoadFloats(sums + m * stride);
  const int64_t step = prefetch.StepOf(kBlocks);
#pragma GCC unroll 1
  for (int b = 0; b < blocks; ++b) {
    prefetch.Fetch(step);
#pragma GCC unroll 2
    for (int h = 0; h < kParts; ++h) {
      const int part = kParts * b + h;
      Ints dot[M];
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) dot[m] = SetInts(Source::kMinimums || Source::kSigned ? 0 : x[m].offsets[part]);
#pragma GCC unroll 8
      for (int run = kGroups * h; run < kGroups * (h + 1); run += kRun) {
        Sums sum[M];
#pragma GCC unroll 8
        for (int g = run; g < run + kRun; ++g) {
          const Bytes weights = LoadBytes(w.groups[8 * b + g]);
#pragma GCC unroll 8
          for (int m = 0; m < M; ++m) {
            const Quad inputs = LoadQuad(x[m].q + kBlock * b + kGroup * g);
            if constexpr (Source::kSigned && kRun == 1) {
              dot[m] = DotSigned(dot[m], weights, inputs);
            } else if constexpr (Source::kSigned) {
              sum[m] = AddSignedGroup(g == run ? StartSums(0) : sum[m], weights, inputs);
            } else {
              sum[m] = g == run ? FirstGroup(weights, inputs) : AddGroup(sum[m], weights, inputs);
            }
          }
        }
        if constexpr (!Source::kSigned || kRun > 1) {
#pragma GCC unroll 8
          for (int m = 0; m < M; ++m) dot[m] = AddSums(dot[m], sum[m]);
        }
      }
      AddBlock<M>(w, x, b, part, dot, total);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) StoreFloats(sums + m * stride, total[m]);
}

}  // namespace
}  // namespace inferflux::compute::cpu
