// Least-squares fits of a few values to scale * q, or scale * q - min, with q from a small grid.
//
// The search is the usual one of block quantisers: round with several trial scales, solve for the best scale of each
// rounding in closed form, keep the one with the least weighted error; then round again with the result, as long as
// that helps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "formats/quant/blocks.h"

namespace inferflux::formats {

// Rounds to the nearest integer, for |v| < 2^22. (Adding 1.5 * 2^23 leaves no fraction bits; it vectorises on any
// machine.)
inline float RoundSmall(float v) { return (v + 12582912.0f) - 12582912.0f; }

// The integers kLow..kHigh. kLow has the largest magnitude. A code is the distance from kLow.
template <int kLow, int kHigh>
struct UniformGrid {
  static constexpr float kExtremes[2] = {kLow, kHigh};
  static constexpr float kTrialStep = 0.1f;  // of the extreme, in each direction
  static constexpr int kTrials = 9;
  static float Nearest(float v) {
    return RoundSmall(std::clamp(v, static_cast<float>(kLow), static_cast<float>(kHigh)));
  }
  static uint8_t Code(float v) { return static_cast<uint8_t>(static_cast<int>(Nearest(v)) - kLow); }
};

// The 16 values of the IQ4 types. Twice the midpoint of two neighbours is an integer, so a table indexed by it finds
// the nearest code.
struct Iq4Grid {
  static constexpr float kExtremes[2] = {-127.0f, 113.0f};
  static constexpr float kTrialStep = 1.0f;
  static constexpr int kTrials = 7;
  static constexpr auto kCodes = [] {
    std::array<uint8_t, 2 * (113 + 127) + 1> codes{};
    int code = 0;
    for (int twice = -2 * 127; twice <= 2 * 113; ++twice) {
      if (code < 15 && twice > kIq4Values[code] + kIq4Values[code + 1]) ++code;
      codes[static_cast<size_t>(twice + 2 * 127)] = static_cast<uint8_t>(code);
    }
    return codes;
  }();
  static uint8_t Code(float v) {
    const float place = 2.0f * (std::clamp(v, kExtremes[0], kExtremes[1]) - kExtremes[0]);
    const auto whole = static_cast<int>(place);
    return kCodes[static_cast<size_t>(whole + (place > static_cast<float>(whole)))];
  }
  static float Nearest(float v) { return kIq4Values[Code(v)]; }
};

struct ScaleFit {
  float scale = 0.0f;
  float gain = 0.0f;  // the share of the weighted sum of squares that the fit explains
};

// The best scale for the rounding by `inverse_scale`.
template <class Grid>
ScaleFit SolveScale(const float* x, const float* w, int n, float inverse_scale) {
  float xq = 0.0f;
  float qq = 0.0f;
  for (int i = 0; i < n; ++i) {
    const float q = Grid::Nearest(x[i] * inverse_scale);
    xq += w[i] * x[i] * q;
    qq += w[i] * q * q;
  }
  if (!(qq > 0.0f)) return {};
  return {xq / qq, xq * xq / qq};
}

// The scale (of either sign) that makes sum w (x - scale * q)^2 small; 0 if all values are 0.
template <class Grid>
float FitScale(const float* x, const float* w, int n) {
  float extreme = 0.0f;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  if (std::fabs(extreme) < 1e-30f) return 0.0f;
  ScaleFit best;
  for (const float end : Grid::kExtremes) {
    for (int trial = -Grid::kTrials; trial <= Grid::kTrials; ++trial) {
      const auto fit = SolveScale<Grid>(x, w, n, (end + Grid::kTrialStep * static_cast<float>(trial)) / extreme);
      if (fit.gain > best.gain) best = fit;
    }
  }
  for (int round = 0; round < 3 && best.scale != 0.0f; ++round) {
    const auto fit = SolveScale<Grid>(x, w, n, 1.0f / best.scale);
    if (!(fit.gain > best.gain)) break;
    best = fit;
  }
  return best.scale;
}

// sum w (x - scale * q)^2 with the best q for this scale.
template <class Grid>
float ScaleError(const float* x, const float* w, int n, float scale) {
  const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
  float error = 0.0f;
  for (int i = 0; i < n; ++i) {
    const float diff = x[i] - scale * Grid::Nearest(x[i] * inverse);
    error += w[i] * diff * diff;
  }
  return error;
}

// x is near scale * q - min, q from 0 to q_max; scale and min are not negative.
struct AffineFit {
  float scale = 0.0f;
  float min = 0.0f;
  float error = 0.0f;
};

inline float AffineCode(float x, float inverse_scale, float min, float q_max) {
  return RoundSmall(std::clamp((x + min) * inverse_scale, 0.0f, q_max));
}

// sum w (x - (scale * q - min))^2 with the best q.
inline float AffineError(const float* x, const float* w, int n, float q_max, float scale, float min) {
  const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
  float error = 0.0f;
  for (int i = 0; i < n; ++i) {
    const float diff = x[i] + min - scale * AffineCode(x[i], inverse, min, q_max);
    error += w[i] * diff * diff;
  }
  return error;
}

AffineFit FitAffine(const float* x, const float* w, int n, int q_max);

// The weight of each of n values: it grows with the value's magnitude, because large weights are multiplied by large
// activations, and with the importance of its column.
void ValueWeights(const float* x, const float* importance, int n, float* w);

}  // namespace inferflux::formats
