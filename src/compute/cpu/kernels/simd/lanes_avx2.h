// Sixteen lanes with AVX2, whose byte multiplications give int16.
#pragma once

#include <algorithm>
#include <bit>

#include "compute/cpu/kernels/simd/lanes_ymm.h"

namespace inferflux::compute::cpu {
namespace {

constexpr int kChunkRows = 4;
constexpr int kBlockRows = 4;
constexpr bool kPairedSums = false;
constexpr int32_t kSignedOffset = 0;  // DotSigned takes signed weights as they are
inline Bytes FromSigned(Bytes v) { return v; }

inline Pairs Ones() { return {_mm256_set1_epi16(1), _mm256_set1_epi16(1)}; }

// Sums of byte dot products in int16, two per lane. Widening them also multiplies them by a scale, so it waits for as
// many groups as fit.
using Sums = Pairs;
using ScalePairs = Pairs;  // a scale twice in each lane
constexpr bool kSumsHoldOffsets = false;

// Groups with weights up to `most` that a Sums can hold, as an even part of eight: a group adds two results to each
// int16.
constexpr int SumGroups(int most) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::min(8, INT16_MAX / (2 * 127 * most)))));
}
inline Sums StartSums(int32_t /*offset*/) { return ZeroInts(); }
// sum += byte multiplications, in this order: GCC would compute those of many groups before it adds up the first, and
// 16 registers do not hold them.
inline void AddProducts(__m256i& sum, __m256i weights, __m256i four) {
  __m256i products;
  asm volatile("vpmaddubsw %[four], %[weights], %[products]\n\tvpaddw %[products], %[sum], %[sum]"
               : [sum] "+x"(sum), [products] "=&x"(products)
               : [weights] "x"(weights), [four] "x"(four));
}
inline Sums AddGroup(Sums sum, Bytes weights, Quad four) {
  AddProducts(sum.a, weights.a, four);
  AddProducts(sum.b, weights.b, four);
  return sum;
}
inline Sums FirstGroup(Bytes weights, Quad four) {
  return {_mm256_maddubs_epi16(weights.a, four), _mm256_maddubs_epi16(weights.b, four)};
}
inline Ints Widen(Sums sum, int32_t offset) { return AddPairs(SetInts(offset), sum, Ones()); }
inline Ints AddSums(Ints total, Sums sum) { return AddPairs(total, sum, Ones()); }

// Byte i of 16 in the four bytes of lane i; bytes whose `masked` bit is set are zero.
inline Bytes Spread(const void* p, int32_t masked) {
  const __m256i bytes = _mm256_broadcastsi128_si256(Load128(p));
  const __m256i mask = _mm256_set1_epi32(masked);
  const __m256i lane =
      _mm256_setr_epi32(0, 0x01010101, 0x02020202, 0x03030303, 0x04040404, 0x05050505, 0x06060606, 0x07070707);
  const __m256i low = _mm256_or_si256(lane, mask);
  return {_mm256_shuffle_epi8(bytes, low), _mm256_shuffle_epi8(bytes, _mm256_or_si256(low, _mm256_set1_epi8(8)))};
}
inline ScalePairs UnsignedScales(const uint8_t* p) { return Spread(p, INT32_C(-0x7fff8000)); }
inline ScalePairs SignedScales(const int8_t* p) {
  const Bytes four = Spread(p, 0);
  return {_mm256_srai_epi16(four.a, 8), _mm256_srai_epi16(four.b, 8)};
}
inline Ints AddScaled(Ints total, Sums sum, ScalePairs scale) { return AddPairs(total, sum, scale); }
// The first scale in the low half of each lane, the second in the high half.
inline Pairs PairOf(ScalePairs first, ScalePairs second) {
  return {_mm256_blend_epi16(first.a, second.a, 0xaa), _mm256_blend_epi16(first.b, second.b, 0xaa)};
}
// With signed weights: |w| * (a with w's sign). Exact, since 2 * 128 * 127 fits an int16.
inline Sums AddSignedGroup(Sums sum, Bytes weights, Quad four) {
  AddProducts(sum.a, _mm256_abs_epi8(weights.a), _mm256_sign_epi8(four, weights.a));
  AddProducts(sum.b, _mm256_abs_epi8(weights.b), _mm256_sign_epi8(four, weights.b));
  return sum;
}
// sum += four multiplications per lane with signed weights, in this order.
inline void AddSignedProducts(__m256i& sum, __m256i weights, __m256i magnitudes, __m256i four) {
  __m256i products;
  asm volatile(
      "vpsignb %[weights], %[four], %[products]\n\t"
      "vpmaddubsw %[products], %[magnitudes], %[products]\n\t"
      "vpmaddwd %[ones], %[products], %[products]\n\t"
      "vpaddd %[products], %[sum], %[sum]"
      : [sum] "+x"(sum), [products] "=&x"(products)
      : [weights] "x"(weights), [magnitudes] "x"(magnitudes), [four] "x"(four), [ones] "x"(_mm256_set1_epi16(1)));
}
inline Ints DotSigned(Ints sum, Bytes weights, Quad four) {
  AddSignedProducts(sum.a, weights.a, _mm256_abs_epi8(weights.a), four);
  AddSignedProducts(sum.b, weights.b, _mm256_abs_epi8(weights.b), four);
  return sum;
}

}  // namespace
}  // namespace inferflux::compute::cpu
