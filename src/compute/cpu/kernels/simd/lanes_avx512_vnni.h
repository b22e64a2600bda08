// Sixteen lanes with AVX-512 and VNNI: one register each.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace inferflux::compute::cpu {
namespace {

using Ints = __m512i;   // 16 x int32
using Floats = __m512;  // 16 x float
using Bytes = __m512i;  // 16 x 4 bytes
using Quad = __m512i;   // the same 4 signed bytes in each lane
using Pairs = __m512i;  // 16 x 2 int16
using Two = __m512i;    // the same 2 bfloat16 in each lane

constexpr int kChunkRows = 8;  // of an int8 matmul with integer scales
constexpr int kBlockRows = 6;  // of one with float scales
constexpr int kDenseRows = 6;  // of a matmul with dense weights: kDenseRows * kDensePanels sums
constexpr int kDensePanels = 4;
constexpr int kFloatRows = 8;
constexpr int kFloatSums = 16;   // sums that a tile of floats may hold in registers
constexpr int kScoreGroups = 2;  // groups of keys that a tile of scores takes
constexpr int kMeterSums = 12;
constexpr bool kPairedSums = true;  // PairOf and DotPairs for pairs exist
constexpr bool kUnpacksOnce = false;
constexpr int32_t kSignedOffset = 128;

inline Ints ZeroInts() { return _mm512_setzero_si512(); }
inline Ints SetInts(int32_t value) { return _mm512_set1_epi32(value); }
inline Ints MulAdd(Ints a, Ints b, Ints sum) { return _mm512_add_epi32(sum, _mm512_mullo_epi32(a, b)); }
inline Ints WidenUnsigned(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Ints WidenSigned(const int8_t* p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

inline Quad LoadQuad(const int8_t* p) {
  int32_t four;
  std::memcpy(&four, p, 4);
  return _mm512_set1_epi32(four);
}
inline Bytes LoadBytes(const void* p) { return _mm512_loadu_si512(p); }
inline void StoreBytes(void* p, Bytes v) { _mm512_storeu_si512(p, v); }
inline Bytes Or(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
// (byte >> kShift) & mask
template <int kShift>
inline Bytes Bits(Bytes v, int mask) {
  return _mm512_and_si512(kShift == 0 ? v : _mm512_srli_epi16(v, kShift), _mm512_set1_epi8(static_cast<char>(mask)));
}
// byte << kShift, for bytes that do not overflow
template <int kShift>
inline Bytes Up(Bytes v) {
  return _mm512_slli_epi16(v, kShift);
}
// Signed weights as the dot product wants them: offset by kSignedOffset.
inline Bytes FromSigned(Bytes v) { return _mm512_xor_si512(v, _mm512_set1_epi8(static_cast<char>(0x80))); }

// 16 bytes, repeated; and a look-up of them for each byte of `indices`, which are below 16.
inline Bytes LoadTable(const int8_t* p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Bytes LookUp(Bytes table, Bytes indices) { return _mm512_shuffle_epi8(table, indices); }

// sum + a dot product of four bytes per lane; exact.
inline Ints Dot(Ints sum, Bytes weights, Quad four) { return _mm512_dpbusd_epi32(sum, weights, four); }
inline Ints DotSigned(Ints sum, Bytes weights, Quad four) { return _mm512_dpbusd_epi32(sum, weights, four); }

inline Pairs WidenPairs(const uint8_t* p) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
// The low halves of both.
inline Pairs PairOf(Ints first, Ints second) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, first, _mm512_slli_epi32(second, 16));
}
inline Ints DotPairs(Ints sum, Pairs a, Pairs b) { return _mm512_dpwssd_epi32(sum, a, b); }
// sum + a dot product of two per lane, with the two numbers at `two`.
inline Ints DotPairs(Ints sum, Pairs weights, const int16_t* two) {
  int32_t both;
  std::memcpy(&both, two, 4);
  return _mm512_dpwssd_epi32(sum, weights, _mm512_set1_epi32(both));
}

inline Floats ZeroFloats() { return _mm512_setzero_ps(); }
inline Floats SetFloats(float value) { return _mm512_set1_ps(value); }
inline Floats ToFloats(Ints v) { return _mm512_cvtepi32_ps(v); }
inline Floats Mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats Fma(Floats a, Floats b, Floats sum) { return _mm512_fmadd_ps(a, b, sum); }
inline Floats LoadFloats(const float* p) { return _mm512_loadu_ps(p); }
inline Floats LoadFloats(const Fp16* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Floats LoadFloats(const Bf16* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
inline Floats LoadFloats(const int8_t* p) { return ToFloats(WidenSigned(p)); }
inline Floats LoadFloats(const Fp8* p) {
  const __m512i wide = WidenSigned(reinterpret_cast<const int8_t*>(p));
  const __m512i magnitude = _mm512_and_si512(_mm512_slli_epi32(wide, 20), _mm512_set1_epi32(0x07f00000));
  const __mmask16 none = _mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(0x07f00000));
  const __m512 value = Mul(_mm512_castsi512_ps(magnitude), SetFloats(0x1p120f));  // rebiases subnormals too
  const __m512i bits = _mm512_mask_mov_epi32(_mm512_castps_si512(value), none, _mm512_set1_epi32(0x7fc00000));
  return _mm512_castsi512_ps(_mm512_or_si512(bits, _mm512_and_si512(wide, _mm512_set1_epi32(INT32_MIN))));
}
// 8-bit floats as value / 256, which half floats represent, including subnormals (as floats these would slow the matmul
// down); NaN becomes a number.
inline Floats LoadDownscaled(const Fp8* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m256i words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
  return _mm512_cvtph_ps(_mm256_and_si256(words, _mm256_set1_epi16(INT16_C(-0x4080))));  // clears the copy of the sign
}
inline Two LoadTwo(const Bf16* p) {
  int32_t both;
  std::memcpy(&both, p, 4);
  return _mm512_set1_epi32(both);
}
// sum + a dot product of two bfloat16 per lane.
inline Floats DotBf16(Floats sum, Bytes weights, Two two) {
#if defined(__AVX512BF16__)
  return _mm512_dpbf16_ps(sum, (__m512bh)weights, (__m512bh)two);  // NOLINT: __m512bh differs by compiler
#else
  const auto low = [](__m512i v) { return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16)); };
  const auto high = [](__m512i v) {
    return _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32(INT32_C(-0x10000))));
  };
  return Fma(high(weights), high(two), Fma(low(weights), low(two), sum));
#endif
}
inline void StoreFloats(Fp16* p, Floats v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
inline void StoreFloats(float* p, Floats v) { _mm512_storeu_ps(p, v); }

}  // namespace
}  // namespace inferflux::compute::cpu

#include "compute/cpu/kernels/simd/wide_sums.h"
