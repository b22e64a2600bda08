// Decoders of the formats with blocks of 32.
#include <cstring>

#include "formats/quant/block_decoders.h"

namespace inferflux::formats {
namespace {

int FifthBit(const uint8_t qh[4], int element) { return ((qh[element / 8] >> (element % 8)) & 1) << 4; }

}  // namespace

void DecodeBlock(const BlockQ4_0& block, float* out) {
  const float d = ToFloat(block.d);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((block.qs[i] & 15) - 8);
    out[i + 16] = d * static_cast<float>((block.qs[i] >> 4) - 8);
  }
}

void DecodeBlock(const BlockQ4_1& block, float* out) {
  const float d = ToFloat(block.d);
  const float m = ToFloat(block.m);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(block.qs[i] & 15) + m;
    out[i + 16] = d * static_cast<float>(block.qs[i] >> 4) + m;
  }
}

void DecodeBlock(const BlockQ5_0& block, float* out) {
  const float d = ToFloat(block.d);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(((block.qs[i] & 15) | FifthBit(block.qh, i)) - 16);
    out[i + 16] = d * static_cast<float>(((block.qs[i] >> 4) | FifthBit(block.qh, i + 16)) - 16);
  }
}

void DecodeBlock(const BlockQ5_1& block, float* out) {
  const float d = ToFloat(block.d);
  const float m = ToFloat(block.m);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((block.qs[i] & 15) | FifthBit(block.qh, i)) + m;
    out[i + 16] = d * static_cast<float>((block.qs[i] >> 4) | FifthBit(block.qh, i + 16)) + m;
  }
}

void DecodeBlock(const BlockQ8_0& block, float* out) {
  const float d = ToFloat(block.d);
  for (int i = 0; i < kSmallBlock; ++i) out[i] = static_cast<float>(block.qs[i]) * d;
}

}  // namespace inferflux::formats
