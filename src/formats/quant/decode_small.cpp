// Decoders of the formats with blocks of 32.
#include "formats/quant/block_decoders.h"

namespace inferflux::formats {

void DecodeBlock(const BlockQ4_0& block, float* out) {
  const float d = ToFloat(block.d);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((block.qs[i] & 15) - 8);
    out[i + 16] = d * static_cast<float>((block.qs[i] >> 4) - 8);
  }
}

void DecodeBlock(const BlockQ8_0& block, float* out) {
  const float d = ToFloat(block.d);
  for (int i = 0; i < kSmallBlock; ++i) out[i] = static_cast<float>(block.qs[i]) * d;
}

}  // namespace inferflux::formats
