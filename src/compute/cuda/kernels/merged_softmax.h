// A softmax whose scores come tile by tile, or in chunks that are computed apart. Scores are in units of log 2.
#pragma once

#include <cmath>

#include "compute/cuda/device/language.h"
#include "compute/cuda/device/mma.h"

namespace inferflux::cuda {

inline constexpr float kMasked = -INFINITY;
inline constexpr float kLog2E = 1.4426950408889634f;  // exp(x) = exp2(x * log2(e))

// Results of chunks as they are merged: of a row the largest score so far and the sum of its weights.
struct MergedSoftmax {
  float largest = kMasked;
  float sum = 0.0f;

  // Adds a chunk's; what was merged so far has to be multiplied by `old`, and what is added by `added`. A chunk in
  // which the row sees nothing changes nothing.
  __device__ void Add(float top, float weight, float& old, float& added) {
    const float next = fmaxf(largest, top);
    const float base = next == kMasked ? 0.0f : next;
    old = largest == kMasked ? 0.0f : exp2f(largest - base);
    added = top == kMasked ? 0.0f : exp2f(top - base);
    sum = fmaf(sum, old, weight * added);
    largest = next;
  }
};

// Turns scores into weights, of one of the two rows (`half`) that a thread has in tiles of a matrix product. `top`: the
// largest score of these tiles and of those before. Updates the row's largest score and its sum of weights, and returns
// by what its earlier sums have to be multiplied.
template <int kTiles>
__device__ inline float WeighScores(FragmentC<float> (&scores)[kTiles], int half, float top, float& largest,
                                    float& sum) {
  const float base = top == kMasked ? 0.0f : top;
  const float factor = largest == kMasked ? 0.0f : exp2f(largest - base);  // 0: of zeros
  float added = 0.0f;
  for (auto& tile : scores) {
    for (int e = 2 * half; e < 2 * half + 2; ++e) added += tile.x[e] = exp2f(tile.x[e] - base);
  }
  sum = fmaf(sum, factor, added);
  largest = top;
  return factor;
}

}  // namespace inferflux::cuda
