// Sixteen lanes with AVX-VNNI: AVX2's registers, with dot products of bytes that add up in int32.
#pragma once

#include "compute/cpu/kernels/simd/lanes_ymm.h"

namespace inferflux::compute::cpu {
namespace {

constexpr int kChunkRows = 3;  // 12 registers of sums for a pair of sub-blocks, two of weights, and an input
constexpr int kBlockRows = 3;
constexpr bool kPairedSums = true;
constexpr int32_t kSignedOffset = 128;
// Signed weights as the dot product wants them: offset by kSignedOffset.
inline Bytes FromSigned(Bytes v) {
  const __m256i sign = _mm256_set1_epi8(static_cast<char>(0x80));
  return {_mm256_xor_si256(v.a, sign), _mm256_xor_si256(v.b, sign)};
}

// sum + a dot product of four bytes per lane; exact.
inline Ints Dot(Ints sum, Bytes weights, Quad four) {
  return {_mm256_dpbusd_avx_epi32(sum.a, weights.a, four), _mm256_dpbusd_avx_epi32(sum.b, weights.b, four)};
}
inline Ints DotSigned(Ints sum, Bytes weights, Quad four) { return Dot(sum, weights, four); }

// The low halves of both.
inline Pairs PairOf(Ints first, Ints second) {
  return {_mm256_blend_epi16(first.a, _mm256_slli_epi32(second.a, 16), 0xaa),
          _mm256_blend_epi16(first.b, _mm256_slli_epi32(second.b, 16), 0xaa)};
}
inline Ints DotPairs(Ints sum, Pairs x, Pairs y) {
  return {_mm256_dpwssd_avx_epi32(sum.a, x.a, y.a), _mm256_dpwssd_avx_epi32(sum.b, x.b, y.b)};
}

}  // namespace
}  // namespace inferflux::compute::cpu

#include "compute/cpu/kernels/simd/wide_sums.h"
