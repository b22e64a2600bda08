// Activations to int8: q = round(x * 127 / max|x|), to nearest even; keys and values to fp16. Included once an
// instruction set, after its lanes header and vector_ops_inl.h.
#pragma once

#include <algorithm>

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

void QuantizeBlocks(const float* x, int64_t n, int32_t offset, ActivationChunk* out) {
  for (int b = 0; b < n / kBlock; ++b) {
    int8_t* q = out->q + kBlock * b;
    out->scales[b] = QuantizeRun(x + kBlock * b, kBlock, q);
    out->sums[b] = static_cast<int16_t>(SumOf(q, kBlock));
    out->offsets[b] = -offset * out->sums[b];
  }
}

void QuantizeChunk(const float* x, ActivationChunk* out) {
  out->scales[0] = QuantizeRun(x, kChunk, out->q);
  for (int b = 0; b < kBlocks; ++b) {
    const int32_t first = SumOf(out->q + kBlock * b, kBlock / 2);
    const int32_t second = SumOf(out->q + kBlock * b + kBlock / 2, kBlock / 2);
    out->offsets[2 * b] = -32 * first;
    out->offsets[2 * b + 1] = -32 * second;
    out->sums[b] = static_cast<int16_t>(first + second);
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
