// Decoders of the K types: super-blocks of 256 with quantised scales.
#include "formats/quant/block_decoders.h"
#include "formats/quant/k_scales.h"

namespace inferflux::formats {

void DecodeBlock(const BlockQ2_K& block, float* out) {
  for (int i = 0; i < kSuperBlock; ++i) {
    const uint8_t scale = block.scales[i / 16];
    const float d = ToFloat(block.d) * static_cast<float>(scale & 15);
    const float min = ToFloat(block.dmin) * static_cast<float>(scale >> 4);
    const int q = (block.qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3;
    out[i] = d * static_cast<float>(q) - min;
  }
}

void DecodeBlock(const BlockQ3_K& block, float* out) {
  for (int i = 0; i < kSuperBlock; ++i) {
    const int sub = i / 16;
    const int low_scale = (block.scales[sub % 8] >> (sub / 8 * 4)) & 15;
    const int high_scale = (block.scales[8 + sub % 4] >> (sub / 4 * 2)) & 3;
    const float d = ToFloat(block.d) * static_cast<float>((low_scale | (high_scale << 4)) - 32);
    const int low = (block.qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3;
    const bool high = (block.hmask[i % 32] >> (i / 32)) & 1;
    out[i] = d * static_cast<float>(high ? low : low - 4);
  }
}

void DecodeBlock(const BlockQ4_K& block, float* out) {
  for (int sub = 0; sub < 8; ++sub) {
    const ScaleMin packed = UnpackScaleMin(block.scales, sub);
    const float d = ToFloat(block.d) * static_cast<float>(packed.scale);
    const float min = ToFloat(block.dmin) * static_cast<float>(packed.min);
    const uint8_t* qs = block.qs + sub / 2 * 32;
    const int shift = sub % 2 * 4;
    for (int i = 0; i < 32; ++i) *out++ = d * static_cast<float>((qs[i] >> shift) & 15) - min;
  }
}

void DecodeBlock(const BlockQ5_K& block, float* out) {
  for (int sub = 0; sub < 8; ++sub) {
    const ScaleMin packed = UnpackScaleMin(block.scales, sub);
    const float d = ToFloat(block.d) * static_cast<float>(packed.scale);
    const float min = ToFloat(block.dmin) * static_cast<float>(packed.min);
    const uint8_t* qs = block.qs + sub / 2 * 32;
    const int shift = sub % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      const int q = ((qs[i] >> shift) & 15) | (((block.qh[i] >> sub) & 1) << 4);
      *out++ = d * static_cast<float>(q) - min;
    }
  }
}

void DecodeBlock(const BlockQ6_K& block, float* out) {
  const float d = ToFloat(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int half = i / 128;      // each half has 64 bytes of ql and 32 of qh
    const int group = i / 32 % 4;  // 32 elements whose high bits share a shift
    const int low = block.ql[half * 64 + group % 2 * 32 + i % 32] >> (group / 2 * 4);
    const int high = block.qh[half * 32 + i % 32] >> (group * 2);
    const int q = ((low & 15) | ((high & 3) << 4)) - 32;
    out[i] = d * static_cast<float>(block.scales[i / 16]) * static_cast<float>(q);
  }
}

void DecodeBlock(const BlockQ8_K& block, float* out) {
  for (int i = 0; i < kSuperBlock; ++i) out[i] = block.d * static_cast<float>(block.qs[i]);
}

}  // namespace inferflux::formats
