// The codebooks of the IQ1, IQ2 and IQ3 formats: the combination of magnitudes for each index.
//
// An entry packs indices into a short list of magnitudes, the first in its lowest bits: eight of 2 bits (IQ1 and IQ2)
// or four of 4 bits (IQ3).
#pragma once

#include <bit>
#include <cstdint>

namespace inferflux::formats {

extern const uint16_t kIq2XxsGrid[256];
extern const uint16_t kIq2XsGrid[512];
extern const uint16_t kIq2SGrid[1024];
extern const uint16_t kIq3XxsGrid[256];
extern const uint16_t kIq3SGrid[512];
extern const uint16_t kIq1SGrid[2048];

inline constexpr int8_t kIq2Magnitudes[4] = {8, 25, 43, 0};  // the last is never used
inline constexpr int8_t kIq3XxsMagnitudes[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr int8_t kIq3SMagnitudes[8] = {1, 3, 5, 7, 9, 11, 13, 15};
inline constexpr int8_t kIq1Values[4] = {-1, 0, 1, 0};  // the last is never used

// Seven stored sign bits of eight values; the eighth makes the number of negative values even.
inline constexpr uint8_t SignMask(uint32_t seven_bits) {
  return static_cast<uint8_t>(seven_bits | (static_cast<uint32_t>(std::popcount(seven_bits) & 1) << 7));
}

}  // namespace inferflux::formats
