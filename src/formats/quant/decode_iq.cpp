// Decoders of the codebook formats: small groups of values share one index into a table of common combinations.
#include <bit>
#include <cstring>

#include "formats/quant/block_decoders.h"
#include "formats/quant/iq_grids.h"

namespace inferflux::formats {
namespace {

uint32_t LoadU32(const uint8_t* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// kWidth values of one grid entry, times d, with the signs of `signs` (bit i: value i is negative).
template <int kWidth>
void DecodeGroup(uint16_t entry, const int8_t* magnitudes, float d, uint32_t signs, float* out) {
  constexpr int kBits = 16 / kWidth;
  for (int i = 0; i < kWidth; ++i) {
    const float value = d * static_cast<float>(magnitudes[(entry >> (kBits * i)) & ((1 << kBits) - 1)]);
    out[i] = (signs >> i) & 1 ? -value : value;
  }
}

// The IQ1 formats shift all values of a group up or down by an eighth.
void DecodeShifted(uint16_t entry, float d, float shift, float* out) {
  for (int i = 0; i < 8; ++i) out[i] = d * (static_cast<float>(kIq1Values[(entry >> (2 * i)) & 3]) + shift);
}
constexpr float kIq1Shift = 0.125f;

float Nibble(uint8_t byte, int index) { return static_cast<float>((byte >> (index * 4)) & 15); }

}  // namespace

void DecodeBlock(const BlockIq2Xxs& block, float* out) {
  for (int sub = 0; sub < 8; ++sub) {
    const uint8_t* indices = block.qs + sub * 8;
    const uint32_t signs_scale = LoadU32(indices + 4);
    const float d = ToFloat(block.d) * (0.5f + static_cast<float>(signs_scale >> 28)) * 0.25f;
    for (int group = 0; group < 4; ++group, out += 8) {
      DecodeGroup<8>(kIq2XxsGrid[indices[group]], kIq2Magnitudes, d, SignMask((signs_scale >> (7 * group)) & 127), out);
    }
  }
}

void DecodeBlock(const BlockIq2Xs& block, float* out) {
  for (int group = 0; group < 32; ++group, out += 8) {
    const float d = ToFloat(block.d) * (0.5f + Nibble(block.scales[group / 4], group / 2 % 2)) * 0.25f;
    const uint16_t q = block.qs[group];
    DecodeGroup<8>(kIq2XsGrid[q & 511], kIq2Magnitudes, d, SignMask(q >> 9), out);
  }
}

void DecodeBlock(const BlockIq2S& block, float* out) {
  for (int group = 0; group < 32; ++group, out += 8) {
    const float d = ToFloat(block.d) * (0.5f + Nibble(block.scales[group / 4], group / 2 % 2)) * 0.25f;
    const int high = (block.qh[group / 4] >> (group % 4 * 2)) & 3;
    DecodeGroup<8>(kIq2SGrid[block.qs[group] | (high << 8)], kIq2Magnitudes, d, block.signs[group], out);
  }
}

void DecodeBlock(const BlockIq3Xxs& block, float* out) {
  for (int sub = 0; sub < 8; ++sub) {
    const uint32_t signs_scale = LoadU32(block.scales_signs + sub * 4);
    const float d = ToFloat(block.d) * (0.5f + static_cast<float>(signs_scale >> 28)) * 0.5f;
    for (int group = 0; group < 8; ++group, out += 4) {
      const uint32_t signs = SignMask((signs_scale >> (7 * (group / 2))) & 127) >> (group % 2 * 4);
      DecodeGroup<4>(kIq3XxsGrid[block.qs[sub * 8 + group]], kIq3XxsMagnitudes, d, signs, out);
    }
  }
}

void DecodeBlock(const BlockIq3S& block, float* out) {
  for (int group = 0; group < 64; ++group, out += 4) {
    const float d = ToFloat(block.d) * (1.0f + 2.0f * Nibble(block.scales[group / 16], group / 8 % 2));
    const int high = (block.qh[group / 8] >> (group % 8)) & 1;
    const uint32_t signs = static_cast<uint32_t>(block.signs[group / 2]) >> (group % 2 * 4);
    DecodeGroup<4>(kIq3SGrid[block.qs[group] | (high << 8)], kIq3SMagnitudes, d, signs, out);
  }
}

void DecodeBlock(const BlockIq1S& block, float* out) {
  for (int group = 0; group < 32; ++group, out += 8) {
    const uint16_t qh = block.qh[group / 4];
    const float d = ToFloat(block.d) * static_cast<float>(2 * ((qh >> 12) & 7) + 1);
    const int high = (qh >> (group % 4 * 3)) & 7;
    DecodeShifted(kIq1SGrid[block.qs[group] | (high << 8)], d, qh & 0x8000 ? -kIq1Shift : kIq1Shift, out);
  }
}

void DecodeBlock(const BlockIq1M& block, float* out) {
  uint16_t d_bits = 0;
  for (int i = 0; i < 4; ++i) d_bits |= static_cast<uint16_t>((block.scales[i] >> 12) << (4 * i));
  for (int group = 0; group < 32; ++group, out += 8) {
    const int scale = (block.scales[group / 8] >> (group / 2 % 4 * 3)) & 7;
    const float d = ToFloat(Fp16{d_bits}) * static_cast<float>(2 * scale + 1);
    const int high = block.qh[group / 2] >> (group % 2 * 4);
    DecodeShifted(kIq1SGrid[block.qs[group] | ((high & 7) << 8)], d, high & 8 ? -kIq1Shift : kIq1Shift, out);
  }
}

}  // namespace inferflux::formats
