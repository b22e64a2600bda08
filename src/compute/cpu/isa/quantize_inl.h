// Activations to int8: q = round(x * 127 / max|x|), to nearest even; keys and values to fp16. Included once an
// instruction set, after its lanes header and vector_ops_inl.h.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "compute/cpu/kernels.h"

namespace inferflux::compute::cpu {
namespace {

inline float HighestMagnitude(const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto highest = hn::Zero(d);
  for (int64_t i = 0; i < n; i += lanes) highest = hn::Max(highest, hn::Abs(hn::LoadU(d, x + i)));
  return hn::GetLane(hn::MaxOfLanes(d, highest));
}

// `n` values, a multiple of 32, with one scale, which is returned.
inline float QuantizeRun(const float* x, int64_t n, int8_t* q) {
  const float highest = HighestMagnitude(x, n);
  if (!(highest > 0.0f)) {
    std::fill_n(q, n, int8_t{0});
    return 0.0f;
  }
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, 127.0f / highest);
  const hn::Rebind<int8_t, decltype(d)> d8;
  for (int64_t i = 0; i < n; i += lanes) {
    const auto wide = hn::Max(hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), factor)), hn::Set(di, -127));
    hn::StoreU(hn::DemoteTo(d8, wide), d8, q + i);
  }
  return highest / 127.0f;
}

void RoundToFp16(const float* x, int64_t n, Fp16* out) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) StoreFloats(out + i, LoadFloats(x + i));
  for (; i < n; ++i) out[i] = ToFp16(x[i]);
}

inline int32_t SumOf(const int8_t* q, int n) {
  int32_t sum = 0;
  for (int i = 0; i < n; ++i) sum += q[i];
  return sum;
}

// With offsets for each block, or for each of its kParts parts.
template <int kParts>
void QuantizeBlocks(const float* x, int64_t n, int32_t offset, ActivationChunk* out) {
  for (int b = 0; b < n / kBlock; ++b) {
    int8_t* q = out->q + kBlock * b;
    out->scales[b] = QuantizeRun(x + kBlock * b, kBlock, q);
    int32_t sum = 0;
    for (int part = 0; part < kParts; ++part) {
      const int32_t of_part = SumOf(q + kBlock / kParts * part, kBlock / kParts);
      out->offsets[kParts * b + part] = -offset * of_part;
      sum += of_part;
    }
    out->sums[b] = static_cast<int16_t>(sum);
  }
}

// sums[i] and magnitudes[i]: of the 16 values from q[16 * i] on, and of what they are without their signs.
inline void SumsOf16(const int8_t* q, int32_t* sums, int32_t* magnitudes) {
  const hn::ScalableTag<int8_t> d;
  if constexpr (hn::MaxLanes(d) < 8) {
    for (int i = 0; i < kSubs16; ++i) {
      sums[i] = SumOf(q + 16 * i, 16);
      magnitudes[i] = 0;
      for (int k = 0; k < 16; ++k) magnitudes[i] += std::abs(q[16 * i + k]);
    }
  } else {
    const hn::RebindToUnsigned<decltype(d)> du;
    const hn::Repartition<uint64_t, decltype(d)> d64;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    alignas(64) uint64_t shifted[kChunk / 8];  // of eight values, each with 128 added
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

// The highest sum of positive values, or of negative ones without their sign, that comes together in an int16 which
// takes two of each four values over 16.
template <class D>
inline int32_t HighestOf8(D d, const int8_t* q) {
  const hn::RebindToUnsigned<D> du;
  const hn::Repartition<uint32_t, D> d32;
  const hn::Repartition<uint64_t, D> d64;
  alignas(64) uint64_t sums[4][kChunk / 8];  // of the two values in eight
  for (int64_t i = 0; i < kChunk; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto values = hn::LoadU(d, q + i);
    const auto positive = hn::BitCast(d32, hn::Max(values, hn::Zero(d)));
    const auto negative = hn::BitCast(d32, hn::Max(hn::Neg(values), hn::Zero(d)));
    const auto low = hn::Set(d32, 0xffff);
    const auto keep = [&](int kind, auto some) {
      hn::StoreU(hn::SumsOf8(hn::BitCast(du, some)), d64, sums[kind] + i / 8);
    };
    keep(0, hn::And(positive, low));
    keep(1, hn::AndNot(low, positive));
    keep(2, hn::And(negative, low));
    keep(3, hn::AndNot(low, negative));
  }
  uint64_t highest = 0;
  for (const auto& kind : sums) {
    for (int i = 0; i < kSubs16; ++i) highest = std::max(highest, kind[2 * i] + kind[2 * i + 1]);
  }
  return static_cast<int32_t>(highest);
}

// Of 16 values each: their sums, and those of their magnitudes.
template <class D>
inline void KeepSumsOf16(D d, const int32_t* sums, const int32_t* magnitudes, ActivationChunk* out) {
  if constexpr (kSumsHoldOffsets) {
    for (int i = 0; i < kSubs16; ++i) out->offsets[i] = -32 * sums[i];
    out->highest16 = *std::max_element(magnitudes, magnitudes + kSubs16);
  } else {
    for (int i = 0; i < kSubs16; ++i) out->sums16[i] = static_cast<int16_t>(sums[i]);
    out->highest8 = HighestOf8(d, out->q);
  }
}

void QuantizeChunk(const float* x, ActivationChunk* out) {
  out->scales[0] = QuantizeRun(x, kChunk, out->q);
  int32_t sums[kSubs16];
  int32_t magnitudes[kSubs16];
  SumsOf16(out->q, sums, magnitudes);
  KeepSumsOf16(hn::ScalableTag<int8_t>(), sums, magnitudes, out);
  out->highest32 = 0;
  for (int b = 0; b < kBlocks; ++b) {
    const int32_t sum = sums[2 * b] + sums[2 * b + 1];
    out->sums[b] = static_cast<int16_t>(sum);
    // The positive ones alone, or the negative ones.
    const int32_t highest = (magnitudes[2 * b] + magnitudes[2 * b + 1] + std::abs(sum)) / 2;
    out->highest32 = std::max(out->highest32, highest);
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
