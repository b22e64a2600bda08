// IEEE 754 half precision, bfloat16 and FP8 E4M3 (arXiv:2209.05433) as storage types. Conversions round to nearest even
// and keep NaN a NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace inferflux {

struct Fp16 {
  uint16_t bits = 0;
};
struct Bf16 {
  uint16_t bits = 0;
};
struct Fp8 {  // no infinities; the largest value is 448
  uint8_t bits = 0;
};

inline float ToFloat(float value) { return value; }

inline float ToFloat(int8_t value) { return value; }

inline float ToFloat(Bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

inline float ToFloat(Fp16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t magnitude = value.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity or NaN: the exponent is all ones, the payload moves up
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude < 0x0400u) {  // zero or subnormal: the value is an integer multiple of 2^-24, exact in float
    const float scaled = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));  // rebias the exponent from 15 to 127
}

inline float ToFloat(Fp8 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x80u) << 24;
  const uint32_t magnitude = value.bits & 0x7fu;
  if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  const float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;  // rebiases subnormals too
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

inline Bf16 ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};  // quiet NaN
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

inline Fp16 ToFp16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // 65520 and up round to infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: subnormal; adding 0.5 lets the FPU round to multiples of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u))};
  }
  const uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}

// Values beyond the largest become the largest, infinities too.
inline Fp8 ToFp8(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<uint8_t>(sign | 0x7fu)};
  if (magnitude >= 0x43e00000u) return {static_cast<uint8_t>(sign | 0x7eu)};  // 448
  if (magnitude < 0x3c800000u) {  // below 2^-6: subnormal; adding 2^14 lets the FPU round to multiples of 2^-9
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return {static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x46800000u))};
  }
  const uint32_t rounded = magnitude - 0x3c000000u + 0x7ffffu + ((magnitude >> 20) & 1u);
  return {static_cast<uint8_t>(sign | (rounded >> 20))};
}

}  // namespace inferflux
