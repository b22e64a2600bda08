// Encoders of the K types.
#include <cstring>

#include "formats/quant/block_encoders.h"
#include "formats/quant/k_scales.h"
#include "formats/quant/super_block.h"

namespace inferflux::formats {
namespace {

struct SuperCodes {
  uint8_t q[kSuperBlock];
};

template <class Grid, int kSubBlocks>
SuperCodes RoundScaled(const float* x, const ScaledSuperBlock<kSubBlocks>& fit) {
  SuperCodes codes;
  for (int i = 0; i < kSuperBlock; ++i) {
    const float step = ToFloat(fit.d) * static_cast<float>(fit.scales[i * kSubBlocks / kSuperBlock]);
    codes.q[i] = Grid::Code(step != 0.0f ? x[i] / step : 0.0f);
  }
  return codes;
}

template <int kQMax, int kSubBlocks>
SuperCodes RoundAffine(const float* x, const AffineSuperBlock<kSubBlocks>& fit) {
  SuperCodes codes;
  for (int i = 0; i < kSuperBlock; ++i) {
    const int sub = i * kSubBlocks / kSuperBlock;
    const float step = ToFloat(fit.d) * static_cast<float>(fit.scales[sub]);
    const float min = ToFloat(fit.dmin) * static_cast<float>(fit.mins[sub]);
    codes.q[i] = static_cast<uint8_t>(AffineCode(x[i], step > 0.0f ? 1.0f / step : 0.0f, min, kQMax));
  }
  return codes;
}

// Two bits of each code from bit `shift` on: four groups of 32 share 32 bytes.
void PackPairs(const SuperCodes& codes, int shift, uint8_t qs[64]) {
  std::memset(qs, 0, 64);
  for (int i = 0; i < kSuperBlock; ++i) {
    qs[i / 128 * 32 + i % 32] |= static_cast<uint8_t>(((codes.q[i] >> shift) & 3) << (i / 32 % 4 * 2));
  }
}

// The low nibble of each code: two groups of 32 share 32 bytes.
void PackNibbles(const SuperCodes& codes, uint8_t qs[128]) {
  for (int i = 0; i < 128; ++i) {
    const int first = i / 32 * 64 + i % 32;
    qs[i] = static_cast<uint8_t>((codes.q[first] & 15) | (codes.q[first + 32] << 4));
  }
}

}  // namespace

void EncodeBlock(const float* x, const float* importance, BlockQ2_K& block) {
  float w[kSuperBlock];
  ValueWeights(x, importance, kSuperBlock, w);
  const auto fit = FitAffineSuperBlock<16, 3, 15>(x, w);
  for (int sub = 0; sub < 16; ++sub) block.scales[sub] = static_cast<uint8_t>(fit.scales[sub] | (fit.mins[sub] << 4));
  PackPairs(RoundAffine<3>(x, fit), 0, block.qs);
  block.d = fit.d;
  block.dmin = fit.dmin;
}

void EncodeBlock(const float* x, const float* importance, BlockQ3_K& block) {
  using Grid = UniformGrid<-4, 3>;
  float w[kSuperBlock];
  ValueWeights(x, importance, kSuperBlock, w);
  const auto fit = FitScaledSuperBlock<Grid, 16, -32, 31>(x, w);
  const SuperCodes codes = RoundScaled<Grid>(x, fit);
  std::memset(block.scales, 0, sizeof(block.scales));
  for (int sub = 0; sub < 16; ++sub) {
    const int scale = fit.scales[sub] + 32;
    block.scales[sub % 8] |= static_cast<uint8_t>((scale & 15) << (sub / 8 * 4));
    block.scales[8 + sub % 4] |= static_cast<uint8_t>((scale >> 4) << (sub / 4 * 2));
  }
  std::memset(block.hmask, 0, sizeof(block.hmask));
  for (int i = 0; i < kSuperBlock; ++i) block.hmask[i % 32] |= static_cast<uint8_t>((codes.q[i] >> 2) << (i / 32));
  PackPairs(codes, 0, block.qs);
  block.d = fit.d;
}

void EncodeBlock(const float* x, const float* importance, BlockQ4_K& block) {
  float w[kSuperBlock];
  ValueWeights(x, importance, kSuperBlock, w);
  const auto fit = FitAffineSuperBlock<8, 15, 63>(x, w);
  std::memset(block.scales, 0, sizeof(block.scales));
  for (int sub = 0; sub < 8; ++sub) {
    PackScaleMin(block.scales, sub, {static_cast<uint8_t>(fit.scales[sub]), static_cast<uint8_t>(fit.mins[sub])});
  }
  PackNibbles(RoundAffine<15>(x, fit), block.qs);
  block.d = fit.d;
  block.dmin = fit.dmin;
}

void EncodeBlock(const float* x, const float* importance, BlockQ5_K& block) {
  float w[kSuperBlock];
  ValueWeights(x, importance, kSuperBlock, w);
  const auto fit = FitAffineSuperBlock<8, 31, 63>(x, w);
  std::memset(block.scales, 0, sizeof(block.scales));
  for (int sub = 0; sub < 8; ++sub) {
    PackScaleMin(block.scales, sub, {static_cast<uint8_t>(fit.scales[sub]), static_cast<uint8_t>(fit.mins[sub])});
  }
  const SuperCodes codes = RoundAffine<31>(x, fit);
  std::memset(block.qh, 0, sizeof(block.qh));
  for (int i = 0; i < kSuperBlock; ++i) block.qh[i % 32] |= static_cast<uint8_t>((codes.q[i] >> 4) << (i / 32));
  PackNibbles(codes, block.qs);
  block.d = fit.d;
  block.dmin = fit.dmin;
}

void EncodeBlock(const float* x, const float* importance, BlockQ6_K& block) {
  using Grid = UniformGrid<-32, 31>;
  float w[kSuperBlock];
  ValueWeights(x, importance, kSuperBlock, w);
  const auto fit = FitScaledSuperBlock<Grid, 16, -128, 127>(x, w);
  const SuperCodes codes = RoundScaled<Grid>(x, fit);
  for (int sub = 0; sub < 16; ++sub) block.scales[sub] = static_cast<int8_t>(fit.scales[sub]);
  for (int i = 0; i < 128; ++i) {  // 64 bytes a half: groups 0 and 2 of 32, then 1 and 3
    const int first = i / 64 * 128 + i % 64;
    block.ql[i] = static_cast<uint8_t>((codes.q[first] & 15) | (codes.q[first + 64] << 4));
  }
  PackPairs(codes, 4, block.qh);
  block.d = fit.d;
}

}  // namespace inferflux::formats
