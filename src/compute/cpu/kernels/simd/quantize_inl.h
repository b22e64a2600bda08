// Quantises activations to int8: q = round(x * 127 / max|x|), to nearest even; rounds keys and values to fp16. Included
// once per instruction set, after its lanes header and vector_ops_inl.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "compute/cpu/kernels/kernel_table.h"

namespace inferflux::compute::cpu {
namespace {

// As integers, magnitudes have the order of their values, with infinity and then NaN above all others. So neither is
// lost, as could happen in comparisons of floats.
inline float HighestMagnitude(const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto highest = hn::Zero(di);
  for (int64_t i = 0; i < n; i += lanes) {
    highest = hn::Max(highest, hn::BitCast(di, hn::Abs(hn::LoadU(d, x + i))));
  }
  return std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(di, highest)));
}

// `n` values, a multiple of 32, with one scale, which is returned; the scale is not finite if one of the values is not.
inline float QuantizeRun(const float* x, int64_t n, int8_t* q) {
  const float highest = HighestMagnitude(x, n);
  if (highest == 0.0f) {
    std::fill_n(q, n, int8_t{0});
    return 0.0f;
  }
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, 127.0f / highest);
  const auto to_whole = hn::Set(d, 0x1.8p23f);  // an integer added to this is in its lowest bits
  for (int64_t i = 0; i < n; i += lanes) {
    const auto shifted = hn::Add(hn::Mul(hn::LoadU(d, x + i), factor), to_whole);
    const auto lowest = hn::And(hn::BitCast(du, shifted), hn::Set(du, 0xff));
    hn::StoreU(hn::U8FromU32(lowest), d8, reinterpret_cast<uint8_t*>(q + i));
  }
  return highest / 127.0f;
}

void RoundToFp16(const float* x, int64_t n, Fp16* out) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) StoreFloats(out + i, LoadFloats(x + i));
  for (; i < n; ++i) out[i] = ToFp16(x[i]);
}

// sums[i] and magnitudes[i]: the sums of the 16 values from q[16 * i] on, and of their absolute values.
inline void SumsOf16(const int8_t* q, int32_t* sums, int32_t* magnitudes) {
  const hn::ScalableTag<int8_t> d;
  if constexpr (hn::MaxLanes(d) < 8) {
    for (int i = 0; i < kSubs16; ++i) {
      sums[i] = magnitudes[i] = 0;
      for (int k = 0; k < 16; ++k) {
        sums[i] += q[16 * i + k];
        magnitudes[i] += std::abs(q[16 * i + k]);
      }
    }
  } else {
    const hn::RebindToUnsigned<decltype(d)> du;
    const hn::Repartition<uint64_t, decltype(d)> d64;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    alignas(64) uint64_t shifted[kChunk / 8];  // of eight values, each plus 128
    alignas(64) uint64_t positive[kChunk / 8];
    for (int64_t i = 0; i < kChunk; i += lanes) {
      const auto values = hn::LoadU(d, q + i);
      hn::StoreU(hn::SumsOf8(hn::Xor(hn::BitCast(du, values), hn::Set(du, 0x80))), d64, shifted + i / 8);
      hn::StoreU(hn::SumsOf8(hn::BitCast(du, hn::Abs(values))), d64, positive + i / 8);
    }
    for (int i = 0; i < kSubs16; ++i) {
      sums[i] = static_cast<int32_t>(shifted[2 * i] + shifted[2 * i + 1]) - 16 * 128;
      magnitudes[i] = static_cast<int32_t>(positive[2 * i] + positive[2 * i + 1]);
    }
  }
}

// For int16 sums of the values from q[16 * i] on: their sum, the sum of their magnitudes, and the highest sum of
// positive values, or of the magnitudes of negative ones, in one int16, which takes two of each four values.
template <class D>
inline int32_t SumsOfHalves16(D d, const int8_t* q, int32_t* sums, int32_t* magnitudes) {
  const hn::RepartitionToWide<D> d16;
  const hn::RepartitionToWide<decltype(d16)> d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // Each int32 of a block of 16 bytes has the sum of its eight int16, the even ones in its low half. Shuffles are found
  // by their arguments, because a target with one lane has none.
  const auto fold = [&](auto pairs) {
    pairs = hn::Add(pairs, hn::BitCast(d16, Shuffle1032(hn::BitCast(d32, pairs))));
    return hn::Add(pairs, hn::BitCast(d16, Shuffle2301(hn::BitCast(d32, pairs))));
  };
  const auto keep = [&](auto halves, int32_t* to) {
    const auto both = hn::Add(hn::ShiftRight<16>(hn::BitCast(d32, halves)),
                              hn::ShiftRight<16>(hn::ShiftLeft<16>(hn::BitCast(d32, halves))));
    alignas(64) int32_t all[hn::MaxLanes(d32)];
    hn::Store(both, d32, all);
    for (int64_t i = 0; i < lanes / 16; ++i) to[i] = all[4 * i];
  };
  auto highest = hn::Zero(d16);
  for (int64_t i = 0; i < kChunk; i += lanes) {
    const auto values = hn::LoadU(d, q + i);
    const auto two = hn::BitCast(d16, values);
    const auto sum = fold(hn::Add(hn::ShiftRight<8>(two), hn::ShiftRight<8>(hn::ShiftLeft<8>(two))));
    const auto two_magnitudes = hn::BitCast(d16, hn::Abs(values));
    const auto magnitude =
        fold(hn::Add(hn::ShiftRight<8>(two_magnitudes), hn::And(two_magnitudes, hn::Set(d16, 0xff))));
    keep(sum, sums + i / 16);
    keep(magnitude, magnitudes + i / 16);
    highest = hn::Max(highest, hn::Add(magnitude, hn::Abs(sum)));
  }
  return hn::GetLane(hn::MaxOfLanes(d16, highest)) / 2;
}

// With offsets for each block, or for each of its kParts parts.
template <int kParts>
void QuantizeBlocks(const float* x, int64_t n, int32_t offset, ActivationChunk* out) {
  for (int64_t b = 0; b < n / kBlock; ++b) out->scales[b] = QuantizeRun(x + kBlock * b, kBlock, out->q + kBlock * b);
  std::fill(out->q + n, out->q + kChunk, int8_t{0});
  int32_t sums[kSubs16];
  int32_t magnitudes[kSubs16];
  SumsOf16(out->q, sums, magnitudes);
  for (int64_t b = 0; b < n / kBlock; ++b) {
    out->sums[b] = static_cast<int16_t>(sums[2 * b] + sums[2 * b + 1]);
    if constexpr (kParts == 1) {
      out->offsets[b] = -offset * out->sums[b];
    } else {
      for (int64_t half = 2 * b; half < 2 * b + 2; ++half) out->offsets[half] = -offset * sums[half];
    }
  }
}

// sums[i] and magnitudes[i] of a chunk's q as above, and the bounds that its matmuls need.
template <class D>
inline void KeepSumsOf16(D d, int32_t* sums, int32_t* magnitudes, ActivationChunk* out) {
  if constexpr (kSumsHoldOffsets) {
    SumsOf16(out->q, sums, magnitudes);
    for (int i = 0; i < kSubs16; ++i) out->offsets[i] = -32 * sums[i];
    out->highest16 = *std::max_element(magnitudes, magnitudes + kSubs16);
  } else {
    out->highest8 = SumsOfHalves16(d, out->q, sums, magnitudes);
    for (int i = 0; i < kSubs16; ++i) out->sums16[i] = static_cast<int16_t>(sums[i]);
  }
}

void QuantizeChunk(const float* x, ActivationChunk* out) {
  out->scales[0] = QuantizeRun(x, kChunk, out->q);
  int32_t sums[kSubs16];
  int32_t magnitudes[kSubs16];
  KeepSumsOf16(hn::ScalableTag<int8_t>(), sums, magnitudes, out);
  out->highest32 = 0;
  for (int b = 0; b < kBlocks; ++b) {
    const int32_t sum = sums[2 * b] + sums[2 * b + 1];
    out->sums[b] = static_cast<int16_t>(sum);
    // Only the positive values, or only the negative ones.
    const int32_t highest = (magnitudes[2 * b] + magnitudes[2 * b + 1] + std::abs(sum)) / 2;
    out->highest32 = std::max(out->highest32, highest);
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
