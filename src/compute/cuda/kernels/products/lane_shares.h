// What a lane takes of a row of weights at a time: some runs of neighbouring values, chosen so that a warp reads whole
// lines of memory, their product with as many inputs in float, and the values themselves. LaneShare<R> is of the rows
// R.
#pragma once

#include <cstdint>

#include "compute/cuda/kernels/products/weight_rows.h"

namespace inferflux::cuda {

// Of any format: a group of 16.
template <class R>
struct LaneShare {
  static constexpr int kRuns = 1;
  static constexpr int kRun = kGroup;
  struct Values {
    float x[kGroup];
  };

  __host__ __device__ static int64_t Count(int64_t columns) { return (columns + kGroup - 1) / kGroup; }
  // The first column of a run.
  __device__ static int64_t First(int64_t share, int) { return share * kGroup; }
  // About where its values are.
  __device__ static const uint8_t* At(const uint8_t* row, int64_t, int64_t) { return row; }
  __device__ static Values Load(const uint8_t* row, int64_t columns, int64_t share) {
    Values out;
    R::Unpack(row, columns, share, out.x);
    return out;
  }
  __device__ static float Dot(const Values& values, const float (&inputs)[kRuns * kRun]) {
    float sum = 0.0f;
    for (int i = 0; i < kGroup; ++i) sum = fmaf(values.x[i], inputs[i], sum);
    return sum;
  }
  __device__ static void Expand(const Values& values, float (&out)[kRuns * kRun]) {
    for (int i = 0; i < kGroup; ++i) out[i] = values.x[i];
  }
};

// Of elements in 16 bits: eight each of two neighbouring 512 bytes.
template <class T>
struct DenseLaneShare {
  static constexpr int kRuns = 2;
  static constexpr int kRun = 8;
  static constexpr int64_t kOfWarp = kWarpSize * kRun;  // columns of a run
  struct Values {
    Pack<T, kRun> x[kRuns];
  };

  __host__ __device__ static int64_t Count(int64_t columns) {
    return (columns + kRuns * kOfWarp - 1) / (kRuns * kOfWarp) * kWarpSize;
  }
  __device__ static int64_t First(int64_t share, int run) {
    return (share / kWarpSize * kRuns + run) * kOfWarp + share % kWarpSize * kRun;
  }
  __device__ static const uint8_t* At(const uint8_t* row, int64_t columns, int64_t share) {
    const int64_t first = First(share, 0);
    return first < columns ? row + first * static_cast<int64_t>(sizeof(T)) : row;
  }
  __device__ static Values Load(const uint8_t* row, int64_t columns, int64_t share) {
    Values out;
    for (int run = 0; run < kRuns; ++run) {
      const int64_t first = First(share, run);
      out.x[run] = {};
      if (first < columns) out.x[run] = reinterpret_cast<const Pack<T, kRun>*>(row)[first / kRun];
    }
    return out;
  }
  __device__ static float Dot(const Values& values, const float (&inputs)[kRuns * kRun]) {
    float sums[kRuns] = {};
    for (int run = 0; run < kRuns; ++run) {
      for (int i = 0; i < kRun; ++i) {
        sums[run] = fmaf(AsFloat(values.x[run].x[i]), inputs[run * kRun + i], sums[run]);
      }
    }
    return sums[0] + sums[1];
  }
};
template <>
struct LaneShare<F16Rows> : DenseLaneShare<Fp16> {};
template <>
struct LaneShare<Bf16Rows> : DenseLaneShare<Bf16> {};

// Small unsigned numbers q become floats without a conversion: their bits, in the fraction of a power of two p, are
// p + q, and the sum of p * input, which is the same for a whole run, is taken off in the end.
//
// Of Q4_K: 16 bytes, which are half of two neighbouring sub-blocks.
template <>
struct LaneShare<Q4_KRows> {
  static constexpr int kRuns = 2;
  static constexpr int kRun = 16;
  struct Values {
    Pack<uint32_t, 4> packed, header;
    int sub;  // the first of two sub-blocks

    __device__ SubBlock scale(int run) const { return SubBlockOfWords(header.x, sub + run); }
  };

  __host__ __device__ static int64_t Count(int64_t columns) { return columns / (kRuns * kRun); }
  __device__ static int64_t First(int64_t share, int run) {
    return share / 8 * 256 + share % 8 / 2 * 64 + share % 2 * 16 + run * 32;
  }
  __device__ static const uint8_t* At(const uint8_t* row, int64_t, int64_t share) {
    return row + share / 8 * Q4_KRows::kBytes;
  }
  __device__ static Values Load(const uint8_t* row, int64_t, int64_t share) {
    const auto* block = reinterpret_cast<const Pack<uint32_t, 4>*>(row + share / 8 * Q4_KRows::kBytes);
    return {block[1 + share % 8], block[0], static_cast<int>(share % 8 / 2 * 2)};
  }
  __device__ static float Dot(const Values& values, const float (&inputs)[kRuns * kRun]) {
    constexpr uint32_t kSixteen = 0x41800000;  // 16.0f, whose last bits but 19 count ones
    float sums[kRuns] = {}, plain[kRuns] = {};
    for (int word = 0; word < 4; ++word) {
      for (int i = 0; i < 4; ++i) {
        const uint32_t low = values.packed.x[word] >> (8 * i) << 19;
        const uint32_t high = values.packed.x[word] >> (8 * i + 4) << 19;
        const float of_low = inputs[word * 4 + i], of_high = inputs[kRun + word * 4 + i];
        sums[0] = fmaf(FloatOfBits((low & 0x00780000) | kSixteen), of_low, sums[0]);
        sums[1] = fmaf(FloatOfBits((high & 0x00780000) | kSixteen), of_high, sums[1]);
        plain[0] += of_low;
        plain[1] += of_high;
      }
    }
    float sum = 0.0f;
    for (int run = 0; run < kRuns; ++run) {
      const SubBlock scale = values.scale(run);
      sum = fmaf(scale.d, fmaf(-16.0f, plain[run], sums[run]), sum);
      sum = fmaf(-scale.min, plain[run], sum);
    }
    return sum;
  }
  __device__ static void Expand(const Values& values, float (&out)[kRuns * kRun]) {
    constexpr uint32_t kSixteen = 0x41800000;
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const SubBlock scale = values.scale(run);
      const float offset = fmaf(-16.0f, scale.d, -scale.min);
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        const uint32_t bits = values.packed.x[i / 4] >> (i % 4 * 8 + run * 4) << 19 & 0x00780000;
        out[run * kRun + i] = fmaf(FloatOfBits(bits | kSixteen), scale.d, offset);
      }
    }
  }

 private:
  // SubBlockOf the words of a block's header.
  __device__ static SubBlock SubBlockOfWords(const uint32_t (&words)[4], int sub) {
    // The scales of sub-blocks 0 to 3 are bytes of the second word, their minima of the third; of 4 to 7 the low four
    // bits are in the fourth word, and the high two on top of the others.
    const int shift = sub % 4 * 8;
    const uint32_t first = words[1] >> shift, second = words[2] >> shift, third = words[3] >> shift;
    uint32_t scale = first & 63, min = second & 63;
    if (sub >= 4) {
      scale = (third & 15) | (first >> 6 & 3) << 4;
      min = (third >> 4 & 15) | (second >> 6 & 3) << 4;
    }
    const float d = AsFloat(Fp16{static_cast<uint16_t>(words[0])});
    const float minimum = AsFloat(Fp16{static_cast<uint16_t>(words[0] >> 16)});
    return {d * static_cast<float>(scale), minimum * static_cast<float>(min)};
  }
};

// Of Q6_K: eight bytes of high bits, and twice eight of low ones, which are eight values in each of four runs.
template <>
struct LaneShare<Q6_KRows> {
  static constexpr int kRuns = 4;
  static constexpr int kRun = 8;
  struct Values {
    Pack<uint32_t, 2> low[2], high;
    float scales[kRuns];
  };

  __host__ __device__ static int64_t Count(int64_t columns) { return columns / (kRuns * kRun); }
  __device__ static int64_t First(int64_t share, int run) {
    return share / 8 * 256 + share % 8 / 4 * 128 + share % 4 * 8 + run * 32;
  }
  __device__ static const uint8_t* At(const uint8_t* row, int64_t, int64_t share) {
    return row + share / 8 * Q6_KRows::kBytes;
  }
  __device__ static Values Load(const uint8_t* row, int64_t, int64_t share) {
    const uint8_t* block = row + share / 8 * Q6_KRows::kBytes;
    const auto half = static_cast<int>(share % 8 / 4);
    const auto part = static_cast<int>(share % 4);
    Values out;
    const auto* low = reinterpret_cast<const Pack<uint32_t, 2>*>(block + half * 64);
    out.low[0] = low[part];
    out.low[1] = low[part + 4];
    out.high = reinterpret_cast<const Pack<uint32_t, 2>*>(block + 128 + half * 32)[part];
    const float d = AsFloat(*reinterpret_cast<const Fp16*>(block + 208));
    for (int run = 0; run < kRuns; ++run) {
      const auto scale = static_cast<int8_t>(block[192 + half * 8 + run * 2 + part / 2]);
      out.scales[run] = d * static_cast<float>(scale);
    }
    return out;
  }
  __device__ static float Dot(const Values& values, const float (&inputs)[kRuns * kRun]) {
    constexpr uint32_t kSixtyFour = 0x42800000;  // 64.0f, whose last bits but 17 count ones
    float sum = 0.0f;
    for (int run = 0; run < kRuns; ++run) {
      float product = 0.0f, plain = 0.0f;
      for (int i = 0; i < kRun; ++i) {
        const uint32_t low = values.low[run % 2].x[i / 4] >> (i % 4 * 8 + run / 2 * 4) & 15;
        const uint32_t high = values.high.x[i / 4] >> (i % 4 * 8 + run * 2) & 3;
        const float input = inputs[run * kRun + i];
        product = fmaf(FloatOfBits(kSixtyFour | low << 17 | high << 21), input, product);
        plain += input;
      }
      sum = fmaf(values.scales[run], fmaf(-96.0f, plain, product), sum);  // the format's 32 too
    }
    return sum;
  }
  __device__ static void Expand(const Values& values, float (&out)[kRuns * kRun]) {
    constexpr uint32_t kSixtyFour = 0x42800000;
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        const uint32_t low = values.low[run % 2].x[i / 4] >> (i % 4 * 8 + run / 2 * 4) & 15;
        const uint32_t high = values.high.x[i / 4] >> (i % 4 * 8 + run * 2) & 3;
        const float q = FloatOfBits(kSixtyFour | low << 17 | high << 21);
        out[run * kRun + i] = values.scales[run] * (q - 96.0f);
      }
    }
  }
};

// A lane's inputs of one row; zeros beyond the columns.
template <class Share>
__device__ inline void LoadInputs(const float* x, int64_t columns, int64_t share, bool packed,
                                  float (&out)[Share::kRuns * Share::kRun]) {
  for (int run = 0; run < Share::kRuns; ++run) {
    const int64_t first = Share::First(share, run);
    if (packed && first + Share::kRun <= columns) {
      for (int p = 0; p < Share::kRun / 4; ++p) {
        const auto four = *reinterpret_cast<const Pack<float, 4>*>(x + first + 4 * p);
        for (int i = 0; i < 4; ++i) out[run * Share::kRun + 4 * p + i] = four.x[i];
      }
    } else {
      for (int i = 0; i < Share::kRun; ++i) out[run * Share::kRun + i] = first + i < columns ? x[first + i] : 0.0f;
    }
  }
}

}  // namespace inferflux::cuda
