// The scale formats of the microscaling types, halved, because their four-bit values are stored doubled (kFp4Doubled).
// Source: OCP Microscaling Formats (MX) v1.0; NVFP4's unsigned E4M3.
#pragma once

#include <bit>
#include <cstdint>

namespace inferflux::formats {

// 2^(e - 128); the two lowest are subnormal floats.
inline float HalfOfE8m0(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23;
  return std::bit_cast<float>(bits);
}

// Half of an unsigned E4M3 number (exponent bias 7). 0x7f, its NaN, counts as zero.
inline float HalfOfUe4m3(uint8_t value) {
  const int exponent = (value >> 3) & 15;
  const auto mantissa = static_cast<float>(value & 7);
  if (value == 0 || value == 0x7f) return 0.0f;
  if (exponent == 0) return mantissa * 0x1p-10f;
  const float power = std::bit_cast<float>(static_cast<uint32_t>(exponent - 7 - 1 + 127) << 23);
  return (1.0f + mantissa / 8.0f) * power;
}

}  // namespace inferflux::formats
