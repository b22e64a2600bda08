// Decoders of the four-bit formats with unevenly spaced values.
#include "formats/quant/block_decoders.h"
#include "formats/quant/small_floats.h"

namespace inferflux::formats {

void DecodeBlock(const BlockIq4Nl& block, float* out) {
  const float d = ToFloat(block.d);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(kIq4Values[block.qs[i] & 15]);
    out[i + 16] = d * static_cast<float>(kIq4Values[block.qs[i] >> 4]);
  }
}

void DecodeBlock(const BlockIq4Xs& block, float* out) {
  for (int sub = 0; sub < 8; ++sub) {
    const int low = (block.scales_l[sub / 2] >> (sub % 2 * 4)) & 15;
    const int high = (block.scales_h >> (2 * sub)) & 3;
    const float d = ToFloat(block.d) * static_cast<float>((low | (high << 4)) - 32);
    const uint8_t* qs = block.qs + sub * 16;
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>(kIq4Values[qs[i] & 15]);
      out[i + 16] = d * static_cast<float>(kIq4Values[qs[i] >> 4]);
    }
    out += 32;
  }
}

void DecodeBlock(const BlockMxfp4& block, float* out) {
  const float d = HalfOfE8m0(block.e);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(kFp4Doubled[block.qs[i] & 15]);
    out[i + 16] = d * static_cast<float>(kFp4Doubled[block.qs[i] >> 4]);
  }
}

void DecodeBlock(const BlockNvfp4& block, float* out) {
  for (int sub = 0; sub < 4; ++sub) {
    const float d = HalfOfUe4m3(block.scales[sub]);
    const uint8_t* qs = block.qs + sub * 8;
    for (int i = 0; i < 8; ++i) {
      out[i] = d * static_cast<float>(kFp4Doubled[qs[i] & 15]);
      out[i + 8] = d * static_cast<float>(kFp4Doubled[qs[i] >> 4]);
    }
    out += 16;
  }
}

}  // namespace inferflux::formats
