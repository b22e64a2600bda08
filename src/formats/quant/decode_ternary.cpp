// Decoders of the ternary formats: every value is -d, 0 or d.
#include "formats/quant/block_decoders.h"

namespace inferflux::formats {
namespace {

// A byte holds a base-3 fraction; multiplying by 3^digit brings that digit to the top.
float Trit(uint8_t byte, int digit) {
  constexpr uint8_t kPowers[5] = {1, 3, 9, 27, 81};
  const auto shifted = static_cast<uint8_t>(byte * kPowers[digit]);
  return static_cast<float>(((shifted * 3) >> 8) - 1);
}

float* DecodeGroup(const uint8_t* bytes, int count, int digits, float d, float* out) {
  for (int digit = 0; digit < digits; ++digit) {
    for (int i = 0; i < count; ++i) *out++ = d * Trit(bytes[i], digit);
  }
  return out;
}

}  // namespace

void DecodeBlock(const BlockTq1_0& block, float* out) {
  const float d = ToFloat(block.d);
  out = DecodeGroup(block.qs, 32, 5, d, out);
  out = DecodeGroup(block.qs + 32, 16, 5, d, out);
  DecodeGroup(block.qh, 4, 4, d, out);
}

void DecodeBlock(const BlockTq2_0& block, float* out) {
  const float d = ToFloat(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int q = (block.qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3;
    out[i] = d * static_cast<float>(q - 1);
  }
}

}  // namespace inferflux::formats
