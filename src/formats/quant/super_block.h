// Fits of a whole super-block of 256 values: one float16 scale (and min), and small integers for each sub-block.
//
// First, each sub-block is fitted separately. Then each integer scale is chosen among its neighbours by the error that
// the values have with it, and the float16 scales are solved for again, as long as that helps.
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "formats/quant/fit.h"

namespace inferflux::formats {

// value = d * scales[sub-block] * Grid value
template <int kSubBlocks>
struct ScaledSuperBlock {
  Fp16 d;
  std::array<int, kSubBlocks> scales{};
  float error = std::numeric_limits<float>::infinity();
};

// value = d * scales[sub-block] * q - dmin * mins[sub-block]
template <int kSubBlocks>
struct AffineSuperBlock {
  Fp16 d;
  Fp16 dmin;
  std::array<int, kSubBlocks> scales{};
  std::array<int, kSubBlocks> mins{};
  float error = std::numeric_limits<float>::infinity();
};

inline int RoundToRange(float v, int low, int high) {
  return static_cast<int>(RoundSmall(std::clamp(v, static_cast<float>(low), static_cast<float>(high))));
}

// The best integer scales for this d, near those that the fitted `targets` suggest.
template <class Grid, int kSubBlocks, int kScaleLow, int kScaleHigh>
ScaledSuperBlock<kSubBlocks> ChooseScales(const float* x, const float* w, const std::array<float, kSubBlocks>& targets,
                                          Fp16 d) {
  constexpr int kSize = kSuperBlock / kSubBlocks;
  ScaledSuperBlock<kSubBlocks> block{d, {}, 0.0f};
  const float factor = ToFloat(d);
  for (int sub = 0; sub < kSubBlocks; ++sub) {
    const int middle = factor != 0.0f ? RoundToRange(targets[sub] / factor, kScaleLow, kScaleHigh) : 0;
    float least = std::numeric_limits<float>::infinity();
    for (int scale = std::max(middle - 1, kScaleLow); scale <= std::min(middle + 1, kScaleHigh); ++scale) {
      const float error = ScaleError<Grid>(x + sub * kSize, w + sub * kSize, kSize, factor * static_cast<float>(scale));
      if (error < least) {
        least = error;
        block.scales[sub] = scale;
      }
    }
    block.error += least;
  }
  return block;
}

// The best d for the scales and roundings of `block`.
template <class Grid, int kSubBlocks>
Fp16 SolveFactor(const float* x, const float* w, const ScaledSuperBlock<kSubBlocks>& block) {
  constexpr int kSize = kSuperBlock / kSubBlocks;
  float xq = 0.0f;
  float qq = 0.0f;
  for (int i = 0; i < kSuperBlock; ++i) {
    const auto scale = static_cast<float>(block.scales[i / kSize]);
    const float step = ToFloat(block.d) * scale;
    const float q = step != 0.0f ? scale * Grid::Nearest(x[i] / step) : 0.0f;
    xq += w[i] * x[i] * q;
    qq += w[i] * q * q;
  }
  return qq > 0.0f ? ToFp16(xq / qq) : block.d;
}

template <class Grid, int kSubBlocks, int kScaleLow, int kScaleHigh>
ScaledSuperBlock<kSubBlocks> FitScaledSuperBlock(const float* x, const float* w) {
  constexpr int kSize = kSuperBlock / kSubBlocks;
  std::array<float, kSubBlocks> targets;
  float extreme = 0.0f;
  for (int sub = 0; sub < kSubBlocks; ++sub) {
    targets[sub] = FitScale<Grid>(x + sub * kSize, w + sub * kSize, kSize);
    if (std::fabs(targets[sub]) > std::fabs(extreme)) extreme = targets[sub];
  }
  const auto choose = [&](Fp16 d) { return ChooseScales<Grid, kSubBlocks, kScaleLow, kScaleHigh>(x, w, targets, d); };
  auto best = choose(ToFp16(extreme / static_cast<float>(kScaleLow)));
  for (int round = 0; round < 3; ++round) {
    const auto next = choose(SolveFactor<Grid, kSubBlocks>(x, w, best));
    if (!(next.error < best.error)) break;
    best = next;
  }
  return best;
}

template <int kSubBlocks, int kQMax, int kScaleMax>
AffineSuperBlock<kSubBlocks> ChooseScalesAndMins(const float* x, const float* w,
                                                 const std::array<AffineFit, kSubBlocks>& targets, Fp16 d, Fp16 dmin) {
  constexpr int kSize = kSuperBlock / kSubBlocks;
  AffineSuperBlock<kSubBlocks> block{d, dmin, {}, {}, 0.0f};
  const float factor = ToFloat(d);
  const float min_factor = ToFloat(dmin);
  for (int sub = 0; sub < kSubBlocks; ++sub) {
    const int scale_middle = factor > 0.0f ? RoundToRange(targets[sub].scale / factor, 0, kScaleMax) : 0;
    const int min_middle = min_factor > 0.0f ? RoundToRange(targets[sub].min / min_factor, 0, kScaleMax) : 0;
    float least = std::numeric_limits<float>::infinity();
    for (int scale = std::max(scale_middle - 1, 0); scale <= std::min(scale_middle + 1, kScaleMax); ++scale) {
      for (int min = std::max(min_middle - 1, 0); min <= std::min(min_middle + 1, kScaleMax); ++min) {
        const float error = AffineError(x + sub * kSize, w + sub * kSize, kSize, kQMax,
                                        factor * static_cast<float>(scale), min_factor * static_cast<float>(min));
        if (error < least) {
          least = error;
          block.scales[sub] = scale;
          block.mins[sub] = min;
        }
      }
    }
    block.error += least;
  }
  return block;
}

// Solves for d and dmin together, given the scales, mins and roundings of `block`. False if there is no solution.
template <int kSubBlocks, int kQMax>
bool SolveFactors(const float* x, const float* w, const AffineSuperBlock<kSubBlocks>& block, Fp16& d, Fp16& dmin) {
  constexpr int kSize = kSuperBlock / kSubBlocks;
  float aa = 0.0f, ab = 0.0f, bb = 0.0f, xa = 0.0f, xb = 0.0f;
  for (int sub = 0; sub < kSubBlocks; ++sub) {
    const auto scale = static_cast<float>(block.scales[sub]);
    const auto b = -static_cast<float>(block.mins[sub]);
    const float step = ToFloat(block.d) * scale;
    const float inverse = step > 0.0f ? 1.0f / step : 0.0f;
    const float min = -ToFloat(block.dmin) * b;
    for (int i = sub * kSize; i < (sub + 1) * kSize; ++i) {
      const float a = scale * AffineCode(x[i], inverse, min, kQMax);
      aa += w[i] * a * a;
      ab += w[i] * a * b;
      bb += w[i] * b * b;
      xa += w[i] * x[i] * a;
      xb += w[i] * x[i] * b;
    }
  }
  const float determinant = aa * bb - ab * ab;
  if (!(determinant > 1e-6f * aa * bb)) return false;
  const float new_d = (xa * bb - xb * ab) / determinant;
  const float new_dmin = (aa * xb - ab * xa) / determinant;
  if (!(new_d > 0.0f) || !(new_dmin >= 0.0f)) return false;
  d = ToFp16(new_d);
  dmin = ToFp16(new_dmin);
  return true;
}

template <int kSubBlocks, int kQMax, int kScaleMax>
AffineSuperBlock<kSubBlocks> FitAffineSuperBlock(const float* x, const float* w) {
  constexpr int kSize = kSuperBlock / kSubBlocks;
  std::array<AffineFit, kSubBlocks> targets;
  float max_scale = 0.0f;
  float max_min = 0.0f;
  for (int sub = 0; sub < kSubBlocks; ++sub) {
    targets[sub] = FitAffine(x + sub * kSize, w + sub * kSize, kSize, kQMax);
    max_scale = std::max(max_scale, targets[sub].scale);
    max_min = std::max(max_min, targets[sub].min);
  }
  const auto choose = [&](Fp16 d, Fp16 dmin) {
    return ChooseScalesAndMins<kSubBlocks, kQMax, kScaleMax>(x, w, targets, d, dmin);
  };
  auto best = choose(ToFp16(max_scale / kScaleMax), ToFp16(max_min / kScaleMax));
  for (int round = 0; round < 3; ++round) {
    Fp16 d;
    Fp16 dmin;
    if (!SolveFactors<kSubBlocks, kQMax>(x, w, best, d, dmin)) break;
    const auto next = choose(d, dmin);
    if (!(next.error < best.error)) break;
    best = next;
  }
  return best;
}

}  // namespace inferflux::formats
