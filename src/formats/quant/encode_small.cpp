// Encoders of the simple formats with blocks of 32.
//
// Without importance they give, bit for bit, the results of PyPI's `gguf` (quants.py): the usual rule of the format, by
// the extreme value. With importance, the scale is fitted.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/quant/block_encoders.h"
#include "formats/quant/fit.h"

namespace inferflux::formats {
namespace {

struct SmallCodes {
  uint8_t q[kSmallBlock];
};

// Truncates to 0..high; NaN, from a scale that overflowed, to 0.
uint8_t TruncateTo(float v, int high) {
  if (!(v > 0.0f)) return 0;
  return v < static_cast<float>(high) ? static_cast<uint8_t>(v) : static_cast<uint8_t>(high);
}

// Also zero where 1 / d overflows: such a d is zero in float16.
float InverseOrZero(float d) { return std::fabs(d) < 1e-37f ? 0.0f : 1.0f / d; }

// x is near d * (q - kHalf), q from 0 to 2 kHalf - 1.
template <int kHalf>
SmallCodes EncodeSymmetric(const float* x, const float* importance, Fp16& d) {
  float scale;
  if (importance == nullptr) {
    const float extreme =
        *std::max_element(x, x + kSmallBlock, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    scale = extreme / -kHalf;
  } else {
    float w[kSmallBlock];
    ValueWeights(x, importance, kSmallBlock, w);
    scale = FitScale<UniformGrid<-kHalf, kHalf - 1>>(x, w, kSmallBlock);
  }
  const float inverse = InverseOrZero(scale);
  SmallCodes codes;
  for (int i = 0; i < kSmallBlock; ++i) codes.q[i] = TruncateTo(x[i] * inverse + (kHalf + 0.5f), 2 * kHalf - 1);
  d = ToFp16(scale);
  return codes;
}

// x is near d * q + m, q from 0 to kMax.
template <int kMax>
SmallCodes EncodeAffine(const float* x, const float* importance, Fp16& d, Fp16& m) {
  const auto [low, high] = std::minmax_element(x, x + kSmallBlock);
  float scale = (*high - *low) / kMax;
  float min = *low;
  if (importance != nullptr && scale > 0.0f) {
    float w[kSmallBlock];
    float shifted[kSmallBlock];  // the fit requires a minimum <= 0
    ValueWeights(x, importance, kSmallBlock, w);
    for (int i = 0; i < kSmallBlock; ++i) shifted[i] = x[i] - *high;
    const AffineFit fit = FitAffine(shifted, w, kSmallBlock, kMax);
    scale = fit.scale;
    min = *high - fit.min;
  }
  const float inverse = InverseOrZero(scale);
  SmallCodes codes;
  for (int i = 0; i < kSmallBlock; ++i) codes.q[i] = TruncateTo((x[i] - min) * inverse + 0.5f, kMax);
  d = ToFp16(scale);
  m = ToFp16(min);
  return codes;
}

void PackNibbles(const SmallCodes& codes, uint8_t qs[16]) {
  for (int i = 0; i < 16; ++i) qs[i] = static_cast<uint8_t>((codes.q[i] & 15) | (codes.q[i + 16] << 4));
}

void PackFifthBits(const SmallCodes& codes, uint8_t qh[4]) {
  std::memset(qh, 0, 4);
  for (int i = 0; i < kSmallBlock; ++i) qh[i / 8] |= static_cast<uint8_t>((codes.q[i] >> 4) << (i % 8));
}

// Rounds halves away from zero.
float RoundAway(float v) {
  const float magnitude = std::fabs(v);
  const float whole = std::floor(magnitude);
  return std::copysign(whole + std::floor(2.0f * (magnitude - whole)), v);
}

}  // namespace

void EncodeBlock(const float* x, const float* importance, BlockQ4_0& block) {
  PackNibbles(EncodeSymmetric<8>(x, importance, block.d), block.qs);
}

void EncodeBlock(const float* x, const float* importance, BlockQ4_1& block) {
  PackNibbles(EncodeAffine<15>(x, importance, block.d, block.m), block.qs);
}

void EncodeBlock(const float* x, const float* importance, BlockQ5_0& block) {
  const SmallCodes codes = EncodeSymmetric<16>(x, importance, block.d);
  PackNibbles(codes, block.qs);
  PackFifthBits(codes, block.qh);
}

void EncodeBlock(const float* x, const float* importance, BlockQ5_1& block) {
  const SmallCodes codes = EncodeAffine<31>(x, importance, block.d, block.m);
  PackNibbles(codes, block.qs);
  PackFifthBits(codes, block.qh);
}

// With eight bits, importance gains nothing.
void EncodeBlock(const float* x, const float* /*importance*/, BlockQ8_0& block) {
  float extreme = 0.0f;
  for (int i = 0; i < kSmallBlock; ++i) extreme = std::max(extreme, std::fabs(x[i]));
  const float d = extreme / 127;
  const float inverse = InverseOrZero(d);
  for (int i = 0; i < kSmallBlock; ++i) {
    block.qs[i] = static_cast<int8_t>(std::clamp(RoundAway(x[i] * inverse), -127.0f, 127.0f));
  }
  block.d = ToFp16(d);
}

}  // namespace inferflux::formats
