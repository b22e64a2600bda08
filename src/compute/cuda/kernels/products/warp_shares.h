// What a warp takes of a row of weights at a time: 32 shares (lane_shares.h), which lie next to each other and are in
// shared memory here, and their products with one row of inputs, which the block has in shared memory too, in the order
// in which lanes read them. WarpShare<R> is of the rows R.
#pragma once

#include <cmath>
#include <concepts>

#include "compute/cuda/device/dot.h"
#include "compute/cuda/kernels/products/lane_shares.h"

namespace inferflux::cuda {

using FourWords = Pack<uint32_t, 4>;

template <class R>
struct WarpShare;

template <class R>
concept HasWarpShare =
    std::same_as<R, Q4_KRows> || std::same_as<R, Q6_KRows> || std::same_as<R, F16Rows> || std::same_as<R, Bf16Rows>;

// Of elements in 16 bits, whose inputs are floats.
template <class R>
struct DenseWarpShare {
  using Share = LaneShare<R>;
  static constexpr int kBytes = 2 * kWarpSize * 16;
  struct Inputs {
    FourWords words[4];
  };

  __device__ explicit DenseWarpShare(int) {}

  __device__ static Inputs InputsOf(const float (&x)[Share::kRuns * Share::kRun]) {
    Inputs out;
#pragma unroll
    for (int i = 0; i < Share::kRuns * Share::kRun; ++i) out.words[i / 4].x[i % 4] = FloatBits(x[i]);
    return out;
  }
  __device__ float Dot(const uint8_t* weights, const Inputs& inputs, float sum) const {
    const auto* runs = reinterpret_cast<const Pack<typename R::Element, 8>*>(weights) + Lane();
    float sums[Share::kRuns] = {};
#pragma unroll
    for (int run = 0; run < Share::kRuns; ++run) {
      const auto values = runs[run * kWarpSize];
#pragma unroll
      for (int i = 0; i < Share::kRun; ++i) {
        sums[run] = fmaf(AsFloat(values.x[i]), FloatOfBits(inputs.words[run * 2 + i / 4].x[i % 4]), sums[run]);
      }
    }
    return sum + (sums[0] + sums[1]);
  }
};
template <>
struct WarpShare<F16Rows> : DenseWarpShare<F16Rows> {
  using DenseWarpShare::DenseWarpShare;
};
template <>
struct WarpShare<Bf16Rows> : DenseWarpShare<Bf16Rows> {
  using DenseWarpShare::DenseWarpShare;
};

// A share's inputs as integers of 16 bits with a scale of their own, so that they are rounded to 2^-16 of the largest:
// half as many instructions as in float, and nearly as exact.
template <class Share>
struct IntegerInputs {
  uint32_t pairs[Share::kRuns * Share::kRun / 2];  // two a word, the first one low
  int32_t sums[Share::kRuns] = {};                 // of each run's integers
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
    for (int i = 0; i < Share::kRuns * Share::kRun; i += 2) {
      const int32_t first = rounded(inputs[i]);
      const int32_t second = rounded(inputs[i + 1]);
      pairs[i / 2] = (static_cast<uint32_t>(first) & 0xffff) | static_cast<uint32_t>(second) << 16;
      sums[i / Share::kRun] += first + second;
    }
  }
};

// Four bytes times four inputs, which are two words.
__device__ inline int32_t DotOfFour(const uint32_t* pairs, uint32_t bytes, int32_t sum) {
  return DotOfTwo<true>(pairs[1], bytes, DotOfTwo<false>(pairs[0], bytes, sum));
}

// The scales and minima of a lane's two sub-blocks are taken out of the header as integers, and multiply integers:
// sums of 16 products are below 2^23, and a scale is below 2^6.
template <>
struct WarpShare<Q4_KRows> {
  using Share = LaneShare<Q4_KRows>;
  static constexpr int kBytes = kWarpSize / 8 * Q4_KRows::kBytes;
  struct Inputs {
    FourWords words[5];  // 16 pairs; the sums of both runs and the scale
  };

  // Which bits of the words of scales are the lane's: those of sub-blocks 0 to 3 are the low six of bytes, those of 4
  // to 7 are in two places.
  int shift;
  uint32_t six_bits, four_bits, two_bits;

  __device__ explicit WarpShare(int lane) {
    const int sub = lane % 8 / 2 * 2;
    shift = sub % 4 * 8;
    six_bits = sub < 4 ? 0x3f3f : 0;
    four_bits = sub < 4 ? 0 : 0x0f0f;
    two_bits = sub < 4 ? 0 : 0x3030;
  }

  __device__ static Inputs InputsOf(const float (&x)[Share::kRuns * Share::kRun]) {
    const IntegerInputs<Share> integers(x);
    Inputs out;
#pragma unroll
    for (int i = 0; i < 16; ++i) out.words[i / 4].x[i % 4] = integers.pairs[i];
    out.words[4] = {static_cast<uint32_t>(integers.sums[0]), static_cast<uint32_t>(integers.sums[1]),
                    FloatBits(integers.scale), 0};
    return out;
  }
  __device__ float Dot(const uint8_t* weights, const Inputs& inputs, float sum) const {
    const auto* block = reinterpret_cast<const FourWords*>(weights + Lane() / 8 * Q4_KRows::kBytes);
    const FourWords header = block[0], packed = block[1 + Lane() % 8];
    int32_t low = 0, high = 0;
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      const uint32_t values = packed.x[word];
      low = DotOfFour(inputs.words[word / 2].x + word % 2 * 2, values & 0x0f0f0f0f, low);
      high = DotOfFour(inputs.words[2 + word / 2].x + word % 2 * 2, values >> 4 & 0x0f0f0f0f, high);
    }
    const uint32_t first = header.x[1] >> shift, second = header.x[2] >> shift, third = header.x[3] >> shift;
    const uint32_t scales = (first & six_bits) | (third & four_bits) | (first >> 2 & two_bits);
    const uint32_t minima = (second & six_bits) | (third >> 4 & four_bits) | (second >> 2 & two_bits);
    const auto& [low_sum, high_sum, scale, unused] = inputs.words[4].x;
    const int32_t products = static_cast<int32_t>(scales & 255) * low + static_cast<int32_t>(scales >> 8) * high;
    const int32_t offsets = static_cast<int32_t>(minima & 255) * static_cast<int32_t>(low_sum) +
                            static_cast<int32_t>(minima >> 8) * static_cast<int32_t>(high_sum);
    const float d = AsFloat(Fp16{static_cast<uint16_t>(header.x[0])});
    const float minimum = AsFloat(Fp16{static_cast<uint16_t>(header.x[0] >> 16)});
    return fmaf(fmaf(d, static_cast<float>(products), -minimum * static_cast<float>(offsets)), FloatOfBits(scale), sum);
  }
};

// The scales, of 8 bits, multiply sums of 8 products below 2^23; two of those fit in 32 bits, so there are two sums.
template <>
struct WarpShare<Q6_KRows> {
  using Share = LaneShare<Q6_KRows>;
  static constexpr int kBytes = kWarpSize / 8 * Q6_KRows::kBytes;
  struct Inputs {
    FourWords words[6];  // 16 pairs; -32 times the sum of each run; the scale
  };

  __device__ explicit WarpShare(int) {}

  __device__ static Inputs InputsOf(const float (&x)[Share::kRuns * Share::kRun]) {
    const IntegerInputs<Share> integers(x);
    Inputs out;
#pragma unroll
    for (int i = 0; i < 16; ++i) out.words[i / 4].x[i % 4] = integers.pairs[i];
#pragma unroll
    for (int run = 0; run < Share::kRuns; ++run) out.words[4].x[run] = static_cast<uint32_t>(-32 * integers.sums[run]);
    out.words[5] = {FloatBits(integers.scale), 0, 0, 0};
    return out;
  }
  __device__ float Dot(const uint8_t* weights, const Inputs& inputs, float sum) const {
    using Eight = Pack<uint32_t, 2>;
    const uint8_t* block = weights + Lane() / 8 * Q6_KRows::kBytes;
    const int half = Lane() % 8 / 4, part = Lane() % 4;
    const auto* lows = reinterpret_cast<const Eight*>(block + half * 64);
    const Eight low[2] = {lows[part], lows[part + 4]};
    const Eight high = reinterpret_cast<const Eight*>(block + 128 + half * 32)[part];
    const Eight scales = reinterpret_cast<const Eight*>(block + 192)[half];
    int32_t products[2] = {};
#pragma unroll
    for (int run = 0; run < Share::kRuns; ++run) {
      auto product = static_cast<int32_t>(inputs.words[4].x[run]);
#pragma unroll
      for (int word = 0; word < 2; ++word) {
        const uint32_t four = low[run % 2].x[word] >> (run / 2 * 4) & 0x0f0f0f0f;
        const uint32_t two = high.x[word] >> (run * 2) & 0x03030303;
        product = DotOfFour(inputs.words[run].x + 2 * word, four | two << 4, product);
      }
      const auto scale = static_cast<int8_t>(scales.x[run / 2] >> (run % 2 * 16 + part / 2 * 8));
      products[run / 2] += scale * product;
    }
    const float d = AsFloat(*reinterpret_cast<const Fp16*>(block + 208));
    return fmaf(d * FloatOfBits(inputs.words[5].x[0]),
                static_cast<float>(products[0]) + static_cast<float>(products[1]), sum);
  }
};

}  // namespace inferflux::cuda
