#include "formats/quant/fit.h"

namespace inferflux::formats {
namespace {

struct AffineSums {
  float w = 0.0f;
  float x = 0.0f;
};

// The best scale and min for the rounding by (inverse_scale, min).
AffineFit SolveAffine(const float* x, const float* w, int n, float q_max, float inverse_scale, float min,
                      const AffineSums& sums) {
  float q_sum = 0.0f;
  float qq = 0.0f;
  float xq = 0.0f;
  for (int i = 0; i < n; ++i) {
    const float q = AffineCode(x[i], inverse_scale, min, q_max);
    q_sum += w[i] * q;
    qq += w[i] * q * q;
    xq += w[i] * q * x[i];
  }
  AffineFit fit;
  const float determinant = sums.w * qq - q_sum * q_sum;
  if (determinant > 0.0f) {
    fit.scale = (sums.w * xq - sums.x * q_sum) / determinant;
    fit.min = (q_sum * xq - qq * sums.x) / determinant;
  }
  if (fit.min < 0.0f || !(determinant > 0.0f)) {
    fit.min = 0.0f;
    fit.scale = qq > 0.0f ? xq / qq : 0.0f;
  }
  if (fit.scale < 0.0f) fit.scale = 0.0f;
  fit.error = AffineError(x, w, n, q_max, fit.scale, fit.min);
  return fit;
}

}  // namespace

AffineFit FitAffine(const float* x, const float* w, int n, int q_max) {
  const auto top = static_cast<float>(q_max);
  float low = 0.0f;
  float high = x[0];
  AffineSums sums;
  for (int i = 0; i < n; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
    sums.w += w[i];
    sums.x += w[i] * x[i];
  }
  if (!(high - low > 1e-30f)) return {0.0f, -low, 0.0f};
  AffineFit best{(high - low) / top, -low, 0.0f};
  best.error = AffineError(x, w, n, top, best.scale, best.min);
  constexpr int kTrials = 10;
  for (int trial = -kTrials; trial <= kTrials; ++trial) {
    const float inverse_scale = (top + 0.1f * static_cast<float>(trial)) / (high - low);
    const auto fit = SolveAffine(x, w, n, top, inverse_scale, -low, sums);
    if (fit.error < best.error) best = fit;
  }
  for (int round = 0; round < 4 && best.scale > 0.0f; ++round) {
    const auto fit = SolveAffine(x, w, n, top, 1.0f / best.scale, best.min, sums);
    if (!(fit.error < best.error)) break;
    best = fit;
  }
  return best;
}

void ValueWeights(const float* x, const float* importance, int n, float* w) {
  float squares = 0.0f;
  for (int i = 0; i < n; ++i) squares += x[i] * x[i];
  const float mean_square = squares / static_cast<float>(n);
  float total = 0.0f;
  if (importance != nullptr) {
    for (int i = 0; i < n; ++i) total += w[i] = importance[i] * std::sqrt(mean_square + x[i] * x[i]);
  }
  if (total > 0.0f) return;
  const float root = std::sqrt(mean_square);  // no importance, or all zero in the block
  for (int i = 0; i < n; ++i) total += w[i] = root + std::fabs(x[i]);
  if (!(total > 0.0f)) std::fill_n(w, n, 1.0f);
}

}  // namespace inferflux::formats
