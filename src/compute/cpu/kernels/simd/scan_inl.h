// The selective scan of one token and head, with vectors along the head: each lane is one of its dimensions, so no sum
// crosses lanes, and the order of sums does not depend on their number.
#pragma once

#include <hwy/highway.h>

#include "compute/cpu/kernels/simd/vector_ops_inl.h"

namespace inferflux::compute::cpu {
namespace {

// kVectors vectors of a head's dimensions, which stay in registers while the state passes by.
template <int kVectors>
inline void ScanVectors(float* state, float decay, const float* b, const float* c, const float* x, float* y, int64_t n,
                        int64_t width) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, decay);
  FloatVector inputs[kVectors], sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    inputs[v] = hn::LoadU(d, x + v * lanes);
    sums[v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto in = hn::Set(d, b[i]), out = hn::Set(d, c[i]);
    float* row = state + i * width;
    for (int v = 0; v < kVectors; ++v) {
      const auto next = hn::MulAdd(by, hn::LoadU(d, row + v * lanes), hn::Mul(in, inputs[v]));
      hn::StoreU(next, d, row + v * lanes);
      sums[v] = hn::MulAdd(out, next, sums[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, y + v * lanes);
}

// The dimensions after the last whole vector.
inline void ScanRest(float* state, float decay, const float* b, const float* c, const float* x, float* y, int64_t n,
                     int64_t width, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto mask = hn::FirstN(d, static_cast<size_t>(count));
  const auto by = hn::Set(d, decay), inputs = hn::MaskedLoad(mask, d, x);
  auto sums = hn::Zero(d);
  for (int64_t i = 0; i < n; ++i) {
    float* row = state + i * width;
    const auto next = hn::MulAdd(by, hn::MaskedLoad(mask, d, row), hn::Mul(hn::Set(d, b[i]), inputs));
    hn::BlendedStore(next, mask, d, row);
    sums = hn::MulAdd(hn::Set(d, c[i]), next, sums);
  }
  hn::BlendedStore(sums, mask, d, y);
}

inline void ScanToken(float* state, float decay, const float* b, const float* c, const float* x, float* y, int64_t n,
                      int64_t width) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t p = 0;
  for (; p + 4 * lanes <= width; p += 4 * lanes) ScanVectors<4>(state + p, decay, b, c, x + p, y + p, n, width);
  for (; p + lanes <= width; p += lanes) ScanVectors<1>(state + p, decay, b, c, x + p, y + p, n, width);
  if (p < width) ScanRest(state + p, decay, b, c, x + p, y + p, n, width, width - p);
}

}  // namespace
}  // namespace inferflux::compute::cpu
