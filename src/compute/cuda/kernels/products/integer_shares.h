// Products of a lane's share (lane_shares.h) with inputs that are integers of 16 bits: half as many instructions as in
// float, and nearly as exact. A share's inputs have a scale of their own, so that they are rounded to 2^-16 of the
// largest.
#pragma once

#include <cmath>

#include "compute/cuda/device/dot.h"
#include "compute/cuda/kernels/products/lane_shares.h"

namespace inferflux::cuda {

template <class Share>
struct IntegerInputs {
  uint32_t pairs[Share::kRuns * Share::kRun / 2];  // two a word, the first one low
  float sums[Share::kRuns];                        // of each run's integers
  float scale;

  __device__ explicit IntegerInputs(const float (&inputs)[Share::kRuns * Share::kRun]) {
    constexpr float kLargest = 32767.0f;
    float largest = 0.0f, broken = 0.0f;  // the latter is no number if an input is none, or infinite
#pragma unroll
    for (const float input : inputs) {
      largest = fmaxf(largest, fabsf(input));
      broken += input * 0.0f;
    }
    scale = largest / kLargest + broken;
    const bool sound = broken == 0.0f && largest > 0.0f;
    const float inverse = sound ? kLargest / largest : 0.0f;
    const auto rounded = [&](float input) { return sound ? static_cast<int32_t>(rintf(input * inverse)) : 0; };
#pragma unroll
    for (int run = 0; run < Share::kRuns; ++run) {
      int32_t sum = 0;
#pragma unroll
      for (int i = run * Share::kRun; i < (run + 1) * Share::kRun; i += 2) {
        const int32_t first = rounded(inputs[i]);
        const int32_t second = rounded(inputs[i + 1]);
        pairs[i / 2] = (static_cast<uint32_t>(first) & 0xffff) | static_cast<uint32_t>(second) << 16;
        sum += first + second;
      }
      sums[run] = static_cast<float>(sum);
    }
  }
};

// Four bytes times four inputs, which are two words.
__device__ inline int32_t DotOfFour(const uint32_t* pairs, uint32_t bytes, int32_t sum) {
  return DotOfTwo<true>(pairs[1], bytes, DotOfTwo<false>(pairs[0], bytes, sum));
}

template <class R>
struct IntegerShare;

template <>
struct IntegerShare<Q4_KRows> {
  using Share = LaneShare<Q4_KRows>;

  __device__ static float Dot(const Share::Values& values, const IntegerInputs<Share>& inputs) {
    int32_t sums[Share::kRuns] = {};
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      const uint32_t packed = values.packed.x[word];
      sums[0] = DotOfFour(inputs.pairs + 2 * word, packed & 0x0f0f0f0f, sums[0]);
      sums[1] = DotOfFour(inputs.pairs + 8 + 2 * word, packed >> 4 & 0x0f0f0f0f, sums[1]);
    }
    float sum = 0.0f;
#pragma unroll
    for (int run = 0; run < Share::kRuns; ++run) {
      const SubBlock scale = values.scale(run);
      sum = fmaf(scale.d, static_cast<float>(sums[run]), sum);
      sum = fmaf(-scale.min, inputs.sums[run], sum);
    }
    return sum * inputs.scale;
  }
};

template <>
struct IntegerShare<Q6_KRows> {
  using Share = LaneShare<Q6_KRows>;

  __device__ static float Dot(const Share::Values& values, const IntegerInputs<Share>& inputs) {
    float sum = 0.0f;
#pragma unroll
    for (int run = 0; run < Share::kRuns; ++run) {
      int32_t product = 0;
#pragma unroll
      for (int word = 0; word < 2; ++word) {
        const uint32_t low = values.low[run % 2].x[word] >> (run / 2 * 4) & 0x0f0f0f0f;
        const uint32_t high = values.high.x[word] >> (run * 2) & 0x03030303;
        product = DotOfFour(inputs.pairs + 4 * run + 2 * word, low | high << 4, product);
      }
      sum = fmaf(values.scales[run], fmaf(-32.0f, inputs.sums[run], static_cast<float>(product)), sum);
    }
    return sum * inputs.scale;
  }
};

}  // namespace inferflux::cuda
