// The 6-bit scales and minimums of Q4_K and Q5_K: eight of each in 12 bytes.
//
// Bytes 0-3 hold the scales of sub-blocks 0-3 in their low 6 bits, bytes 4-7 the minimums. Bytes 8-11 hold the low
// nibbles of sub-blocks 4-7 (scale in the low half, minimum in the high half); their top two bits are the top two bits
// of bytes 0-7.
#pragma once

#include <cstdint>

namespace inferflux::formats {

struct ScaleMin {
  uint8_t scale;
  uint8_t min;
};

inline ScaleMin UnpackScaleMin(const uint8_t packed[12], int sub_block) {
  if (sub_block < 4) {
    return {static_cast<uint8_t>(packed[sub_block] & 63), static_cast<uint8_t>(packed[sub_block + 4] & 63)};
  }
  const uint8_t low = packed[sub_block + 4];
  return {static_cast<uint8_t>((low & 15) | ((packed[sub_block - 4] >> 6) << 4)),
          static_cast<uint8_t>((low >> 4) | ((packed[sub_block] >> 6) << 4))};
}

// `packed` must be zeroed before the first call. Sub-blocks may be set in any order.
inline void PackScaleMin(uint8_t packed[12], int sub_block, ScaleMin value) {
  if (sub_block < 4) {
    packed[sub_block] |= value.scale & 63;
    packed[sub_block + 4] |= value.min & 63;
    return;
  }
  packed[sub_block + 4] = static_cast<uint8_t>((value.scale & 15) | ((value.min & 15) << 4));
  packed[sub_block - 4] |= static_cast<uint8_t>((value.scale >> 4) << 6);
  packed[sub_block] |= static_cast<uint8_t>((value.min >> 4) << 6);
}

}  // namespace inferflux::formats
