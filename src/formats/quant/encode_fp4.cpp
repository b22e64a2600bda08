// Encoders of the four-bit formats with unevenly spaced values.
#include <cmath>
#include <limits>

#include "formats/quant/block_encoders.h"
#include "formats/quant/small_floats.h"
#include "formats/quant/super_block.h"

namespace inferflux::formats {
namespace {

void PackIq4(const float* x, float step, uint8_t qs[16]) {
  const float inverse = step != 0.0f ? 1.0f / step : 0.0f;
  for (int i = 0; i < 16; ++i) {
    qs[i] = static_cast<uint8_t>(Iq4Grid::Code(x[i] * inverse) | (Iq4Grid::Code(x[i + 16] * inverse) << 4));
  }
}

// The code of the doubled FP4 value nearest to v.
uint8_t NearestFp4(float v) {
  constexpr float kBounds[7] = {0.5f, 1.5f, 2.5f, 3.5f, 5.0f, 7.0f, 10.0f};  // halfway between neighbours
  const float magnitude = std::fabs(v);
  uint8_t code = 0;
  for (const float bound : kBounds) code += magnitude > bound;
  return v < 0.0f && code != 0 ? code | 8 : code;
}

float Fp4Error(const float* x, const float* w, float step) {
  const float inverse = 1.0f / step;
  float error = 0.0f;
  for (int i = 0; i < kSmallBlock; ++i) {
    const float diff = x[i] - step * static_cast<float>(kFp4Doubled[NearestFp4(x[i] * inverse)]);
    error += w[i] * diff * diff;
  }
  return error;
}

}  // namespace

void EncodeBlock(const float* x, const float* importance, BlockIq4Nl& block) {
  float w[kSmallBlock];
  ValueWeights(x, importance, kSmallBlock, w);
  block.d = ToFp16(FitScale<Iq4Grid>(x, w, kSmallBlock));
  PackIq4(x, ToFloat(block.d), block.qs);
}

void EncodeBlock(const float* x, const float* importance, BlockIq4Xs& block) {
  float w[kSuperBlock];
  ValueWeights(x, importance, kSuperBlock, w);
  const auto fit = FitScaledSuperBlock<Iq4Grid, 8, -32, 31>(x, w);
  block = {fit.d, 0, {}, {}};
  for (int sub = 0; sub < 8; ++sub) {
    const int scale = fit.scales[sub] + 32;
    block.scales_l[sub / 2] |= static_cast<uint8_t>((scale & 15) << (sub % 2 * 4));
    block.scales_h |= static_cast<uint16_t>((scale >> 4) << (2 * sub));
    PackIq4(x + sub * 32, ToFloat(fit.d) * static_cast<float>(fit.scales[sub]), block.qs + sub * 16);
  }
}

// The scale is a power of two: the one for which the largest value fits, or a neighbour.
void EncodeBlock(const float* x, const float* importance, BlockMxfp4& block) {
  float w[kSmallBlock];
  ValueWeights(x, importance, kSmallBlock, w);
  float extreme = 0.0f;
  for (int i = 0; i < kSmallBlock; ++i) extreme = std::max(extreme, std::fabs(x[i]));
  block.e = 0;
  if (extreme > 0.0f) {
    const int fitting = std::ilogb(extreme) - 2 + 127;
    float least = std::numeric_limits<float>::infinity();
    for (int e = std::max(fitting - 1, 0); e <= std::min(std::max(fitting + 1, 0), 254); ++e) {
      const float error = Fp4Error(x, w, HalfOfE8m0(static_cast<uint8_t>(e)));
      if (error < least) {
        least = error;
        block.e = static_cast<uint8_t>(e);
      }
    }
  }
  const float inverse = 1.0f / HalfOfE8m0(block.e);
  for (int i = 0; i < 16; ++i) {
    block.qs[i] = static_cast<uint8_t>(NearestFp4(x[i] * inverse) | (NearestFp4(x[i + 16] * inverse) << 4));
  }
}

}  // namespace inferflux::formats
