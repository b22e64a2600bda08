// Encoders of the ternary formats, for models that were trained ternary: the largest magnitude is the scale, so their
// values are restored exactly. Bit for bit the results of PyPI's `gguf` (quants.py); importance is ignored.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/quant/block_encoders.h"

namespace inferflux::formats {
namespace {

struct Trits {
  Fp16 d;
  uint8_t t[kSuperBlock];  // 0, 1, 2 for -d, 0, d
};

Trits ToTrits(const float* x) {
  float d = 0.0f;
  for (int i = 0; i < kSuperBlock; ++i) d = std::max(d, std::fabs(x[i]));
  const float inverse = d < 1e-37f ? 0.0f : 1.0f / d;  // 1 / d must not overflow
  Trits trits{ToFp16(d), {}};
  for (int i = 0; i < kSuperBlock; ++i) {
    const float v = x[i] * inverse;
    trits.t[i] = static_cast<uint8_t>(1 + (v >= 0.5f) - (v <= -0.5f));
  }
  return trits;
}

// `digits` groups of `count` trits, as the base-3 digits of `count` bytes: the number of five digits, scaled to 0-255.
const uint8_t* PackGroup(const uint8_t* trits, int count, int digits, uint8_t* bytes) {
  for (int i = 0; i < count; ++i) {
    int number = 0;
    for (int digit = 0; digit < 5; ++digit) number = number * 3 + (digit < digits ? trits[digit * count + i] : 0);
    bytes[i] = static_cast<uint8_t>((number * 256 + 242) / 243);
  }
  return trits + count * digits;
}

}  // namespace

void EncodeBlock(const float* x, const float* /*importance*/, BlockTq1_0& block) {
  const Trits trits = ToTrits(x);
  const uint8_t* next = PackGroup(trits.t, 32, 5, block.qs);
  next = PackGroup(next, 16, 5, block.qs + 32);
  PackGroup(next, 4, 4, block.qh);
  block.d = trits.d;
}

void EncodeBlock(const float* x, const float* /*importance*/, BlockTq2_0& block) {
  const Trits trits = ToTrits(x);
  std::memset(block.qs, 0, sizeof(block.qs));
  for (int i = 0; i < kSuperBlock; ++i) {
    block.qs[i / 128 * 32 + i % 32] |= static_cast<uint8_t>(trits.t[i] << (i / 32 % 4 * 2));
  }
  block.d = trits.d;
}

}  // namespace inferflux::formats
