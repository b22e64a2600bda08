// A softmax whose scores come in chunks that are computed apart. Scores are in units of log 2.
#pragma once

#include <cmath>

#include "compute/cuda/device/language.h"

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

}  // namespace inferflux::cuda
