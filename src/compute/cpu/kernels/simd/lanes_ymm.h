// Sixteen lanes with AVX2, FMA and F16C: two registers each. The including header adds byte multiplication.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace inferflux::compute::cpu {
namespace {

struct Ints {  // 16 x int32
  __m256i a, b;
};
struct Floats {  // 16 x float
  __m256 a, b;
};
using Bytes = Ints;    // 16 x 4 bytes
using Quad = __m256i;  // the same 4 signed bytes in each lane
using Pairs = Ints;    // 16 x 2 int16
using Two = __m256i;   // the same 2 bfloat16 in each lane

constexpr int kDenseRows = 6;
constexpr int kDensePanels = 1;
constexpr int kFloatRows = 6;
constexpr int kFloatSums = 4;  // for a tile of several vectors, which take two registers each themselves
constexpr int kScoreGroups = 1;
constexpr int kMeterSums = 6;
constexpr bool kUnpacksOnce = true;

inline __m256i Load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m128i Load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m128i Load64(const void* p) { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }
inline void Store512(void* p, Ints v) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), v.a);
  _mm256_storeu_si256(static_cast<__m256i*>(p) + 1, v.b);
}

inline Ints ZeroInts() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline Ints SetInts(int32_t value) { return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)}; }
inline Ints MulAdd(Ints x, Ints y, Ints sum) {
  return {_mm256_add_epi32(sum.a, _mm256_mullo_epi32(x.a, y.a)), _mm256_add_epi32(sum.b, _mm256_mullo_epi32(x.b, y.b))};
}
inline Ints WidenUnsigned(const uint8_t* p) {
  return {_mm256_cvtepu8_epi32(Load64(p)), _mm256_cvtepu8_epi32(Load64(p + 8))};
}
inline Ints WidenSigned(const int8_t* p) {
  return {_mm256_cvtepi8_epi32(Load64(p)), _mm256_cvtepi8_epi32(Load64(p + 8))};
}

inline Quad LoadQuad(const int8_t* p) {
  int32_t four;
  std::memcpy(&four, p, 4);
  return _mm256_set1_epi32(four);
}
inline Bytes LoadBytes(const void* p) { return {Load256(p), Load256(static_cast<const char*>(p) + 32)}; }
inline void StoreBytes(void* p, Bytes v) { Store512(p, v); }
inline Bytes Or(Bytes x, Bytes y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
// (byte >> kShift) & mask
template <int kShift>
inline Bytes Bits(Bytes v, int mask) {
  const __m256i m = _mm256_set1_epi8(static_cast<char>(mask));
  return {_mm256_and_si256(kShift == 0 ? v.a : _mm256_srli_epi16(v.a, kShift), m),
          _mm256_and_si256(kShift == 0 ? v.b : _mm256_srli_epi16(v.b, kShift), m)};
}
// byte << kShift, for bytes that do not overflow
template <int kShift>
inline Bytes Up(Bytes v) {
  return {_mm256_slli_epi16(v.a, kShift), _mm256_slli_epi16(v.b, kShift)};
}
// 16 bytes, repeated; and a look-up of them for each byte of `indices`, which are below 16.
inline Bytes LoadTable(const int8_t* p) {
  const __m256i table = _mm256_broadcastsi128_si256(Load128(p));
  return {table, table};
}
inline Bytes LookUp(Bytes table, Bytes indices) {
  return {_mm256_shuffle_epi8(table.a, indices.a), _mm256_shuffle_epi8(table.b, indices.b)};
}

// sum + the int16 pairs of each lane, times those of `factors`.
inline Ints AddPairs(Ints sum, Pairs pairs, Pairs factors) {
  return {_mm256_add_epi32(sum.a, _mm256_madd_epi16(pairs.a, factors.a)),
          _mm256_add_epi32(sum.b, _mm256_madd_epi16(pairs.b, factors.b))};
}
inline Pairs WidenPairs(const uint8_t* p) {
  return {_mm256_cvtepu8_epi16(Load128(p)), _mm256_cvtepu8_epi16(Load128(p + 16))};
}
// sum + a dot product of two per lane, with the two numbers at `two`.
inline Ints DotPairs(Ints sum, Pairs weights, const int16_t* two) {
  int32_t both;
  std::memcpy(&both, two, 4);
  const __m256i x = _mm256_set1_epi32(both);
  return AddPairs(sum, weights, {x, x});
}

inline Floats ZeroFloats() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline Floats SetFloats(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
inline Floats ToFloats(Ints v) { return {_mm256_cvtepi32_ps(v.a), _mm256_cvtepi32_ps(v.b)}; }
inline Floats Mul(Floats x, Floats y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline Floats Fma(Floats x, Floats y, Floats sum) {
  return {_mm256_fmadd_ps(x.a, y.a, sum.a), _mm256_fmadd_ps(x.b, y.b, sum.b)};
}
inline Floats LoadFloats(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline Floats LoadFloats(const Fp16* p) { return {_mm256_cvtph_ps(Load128(p)), _mm256_cvtph_ps(Load128(p + 8))}; }
inline Floats LoadFloats(const Bf16* p) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(p)), 16)),
          _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(p + 8)), 16))};
}
inline Floats LoadFloats(const int8_t* p) { return ToFloats(WidenSigned(p)); }
inline __m256 FromFp8(__m256i wide) {
  const __m256i magnitude = _mm256_and_si256(_mm256_slli_epi32(wide, 20), _mm256_set1_epi32(0x07f00000));
  const __m256i none = _mm256_cmpeq_epi32(magnitude, _mm256_set1_epi32(0x07f00000));
  const __m256 value = _mm256_mul_ps(_mm256_castsi256_ps(magnitude), _mm256_set1_ps(0x1p120f));  // subnormals too
  const __m256i sign = _mm256_and_si256(wide, _mm256_set1_epi32(INT32_MIN));
  const __m256i bits =
      _mm256_or_si256(_mm256_castps_si256(value), _mm256_and_si256(none, _mm256_set1_epi32(0x7fc00000)));
  return _mm256_castsi256_ps(_mm256_or_si256(bits, sign));
}
inline Floats LoadFloats(const Fp8* p) {
  const Ints wide = WidenSigned(reinterpret_cast<const int8_t*>(p));
  return {FromFp8(wide.a), FromFp8(wide.b)};
}
// 8-bit floats as value / 256, which half floats represent, including subnormals (as floats these would slow the matmul
// down); NaN becomes a number.
inline Floats LoadDownscaled(const Fp8* p) {
  const __m256i words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(Load128(p)), 7);
  const __m256i halves = _mm256_and_si256(words, _mm256_set1_epi16(INT16_C(-0x4080)));  // clears the copy of the sign
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
}
inline Two LoadTwo(const Bf16* p) {
  int32_t both;
  std::memcpy(&both, p, 4);
  return _mm256_set1_epi32(both);
}
// sum + a dot product of two bfloat16 per lane.
inline __m256 DotBf16(__m256 sum, __m256i weights, __m256i two) {
  const auto low = [](__m256i v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); };
  const auto high = [](__m256i v) {
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32(INT32_C(-0x10000))));
  };
  return _mm256_fmadd_ps(high(weights), high(two), _mm256_fmadd_ps(low(weights), low(two), sum));
}
inline Floats DotBf16(Floats sum, Bytes weights, Two two) {
  return {DotBf16(sum.a, weights.a, two), DotBf16(sum.b, weights.b, two)};
}
inline void StoreFloats(Fp16* p, Floats v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v.a, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p) + 1, _mm256_cvtps_ph(v.b, _MM_FROUND_TO_NEAREST_INT));
}
inline void StoreFloats(float* p, Floats v) {
  _mm256_storeu_ps(p, v.a);
  _mm256_storeu_ps(p + 8, v.b);
}

}  // namespace
}  // namespace inferflux::compute::cpu
