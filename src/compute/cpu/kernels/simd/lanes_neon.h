// Sixteen lanes with NEON and its dot product (SDOT): four registers each.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "base/half.h"

namespace inferflux::compute::cpu {
namespace {

template <class T>
struct Quarters {  // lanes 0 to 3, 4 to 7, 8 to 11, 12 to 15
  T a, b, c, d;
};
using Ints = Quarters<int32x4_t>;      // 16 x int32
using Floats = Quarters<float32x4_t>;  // 16 x float
using Bytes = Quarters<uint8x16_t>;    // 16 x 4 bytes
using Pairs = Quarters<int16x8_t>;     // 16 x 2 int16
using Quad = int8x16_t;                // the same 4 signed bytes in each lane
struct Two {                           // the same 2 bfloat16 in each lane, widened
  float32x4_t low, high;
};

// Besides a tile's sums, the 32 registers have to hold 16 lanes of weights and an input.
constexpr int kChunkRows = 3;
constexpr int kBlockRows = 3;
constexpr int kDenseRows = 4;
constexpr int kDensePanels = 1;
constexpr int kFloatRows = 4;
constexpr int kFloatSums = 4;
constexpr int kScoreGroups = 1;
constexpr int kMeterSums = 6;
constexpr bool kPairedSums = false;
constexpr bool kUnpacksOnce = false;
constexpr int32_t kSignedOffset = 0;  // SDOT takes signed weights as they are

// { f(x.a, y.a, ...), f(x.b, y.b, ...), ... }
template <class F, class T, class... More>
inline auto Each(F f, const T& x, const More&... y) -> Quarters<decltype(f(x.a, y.a...))> {
  return {f(x.a, y.a...), f(x.b, y.b...), f(x.c, y.c...), f(x.d, y.d...)};
}
template <class T>
inline Quarters<T> Same(T v) {
  return {v, v, v, v};
}

inline Ints ZeroInts() { return Same(vdupq_n_s32(0)); }
inline Ints SetInts(int32_t value) { return Same(vdupq_n_s32(value)); }
inline Ints MulAdd(Ints x, Ints y, Ints sum) {
  return Each([](auto p, auto q, auto s) { return vmlaq_s32(s, p, q); }, x, y, sum);
}
inline Ints WidenUnsigned(const uint8_t* p) {
  const uint8x16_t bytes = vld1q_u8(p);
  const uint16x8_t low = vmovl_u8(vget_low_u8(bytes));
  const uint16x8_t high = vmovl_high_u8(bytes);
  return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))), vreinterpretq_s32_u32(vmovl_high_u16(low)),
          vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))), vreinterpretq_s32_u32(vmovl_high_u16(high))};
}
inline Ints WidenSigned(const int8_t* p) {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
  const int16x8_t high = vmovl_high_s8(bytes);
  return {vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)};
}

// One number of 32 bits, however it is aligned, in each lane.
inline uint32x4_t LoadEverywhere(const void* p) {
  uint32_t value;
  __builtin_memcpy(&value, p, 4);
  return vdupq_n_u32(value);
}
inline Quad LoadQuad(const int8_t* p) { return vreinterpretq_s8_u32(LoadEverywhere(p)); }
inline Bytes LoadBytes(const void* p) {
  const auto* bytes = static_cast<const uint8_t*>(p);
  return {vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32), vld1q_u8(bytes + 48)};
}
inline void StoreBytes(void* p, Bytes v) {
  auto* bytes = static_cast<uint8_t*>(p);
  vst1q_u8(bytes, v.a);
  vst1q_u8(bytes + 16, v.b);
  vst1q_u8(bytes + 32, v.c);
  vst1q_u8(bytes + 48, v.d);
}
inline Bytes Or(Bytes x, Bytes y) {
  return Each([](auto p, auto q) { return vorrq_u8(p, q); }, x, y);
}
// (byte >> kShift) & mask
template <int kShift>
inline Bytes Bits(Bytes v, int mask) {
  const uint8x16_t m = vdupq_n_u8(static_cast<uint8_t>(mask));
  return Each([=](auto bytes) { return vandq_u8(bytes >> kShift, m); }, v);
}
// byte << kShift, for bytes that do not overflow
template <int kShift>
inline Bytes Up(Bytes v) {
  return Each([](auto bytes) { return vshlq_n_u8(bytes, kShift); }, v);
}
inline Bytes FromSigned(Bytes v) { return v; }
// 16 bytes, repeated; and a look-up of them for each byte of `indices`, which are below 16.
inline Bytes LoadTable(const int8_t* p) { return Same(vld1q_u8(reinterpret_cast<const uint8_t*>(p))); }
inline Bytes LookUp(Bytes table, Bytes indices) {
  return Each([](auto t, auto i) { return vqtbl1q_u8(t, i); }, table, indices);
}

// sum + a dot product of four per lane; exact for weights from -128 to 127, also for unsigned ones of up to 7 bits.
inline Ints Dot(Ints sum, Bytes weights, Quad four) {
  return Each([=](auto s, auto w) { return vdotq_s32(s, vreinterpretq_s8_u8(w), four); }, sum, weights);
}
inline Ints DotSigned(Ints sum, Bytes weights, Quad four) { return Dot(sum, weights, four); }

inline Pairs WidenPairs(const uint8_t* p) {
  const auto widen = [](uint8x8_t bytes) { return vreinterpretq_s16_u16(vmovl_u8(bytes)); };
  return {widen(vld1_u8(p)), widen(vld1_u8(p + 8)), widen(vld1_u8(p + 16)), widen(vld1_u8(p + 24))};
}
// sum + a dot product of two per lane, with the two numbers at `two`.
inline Ints DotPairs(Ints sum, Pairs weights, const int16_t* two) {
  const int16x8_t x = vreinterpretq_s16_u32(LoadEverywhere(two));
  const auto f = [=](auto s, auto w) {
    return vaddq_s32(s, vpaddq_s32(vmull_s16(vget_low_s16(w), vget_low_s16(x)), vmull_high_s16(w, x)));
  };
  return Each(f, sum, weights);
}

inline Floats ZeroFloats() { return Same(vdupq_n_f32(0.0f)); }
inline Floats SetFloats(float value) { return Same(vdupq_n_f32(value)); }
inline Floats ToFloats(Ints v) {
  return Each([](auto x) { return vcvtq_f32_s32(x); }, v);
}
inline Floats Mul(Floats x, Floats y) {
  return Each([](auto p, auto q) { return vmulq_f32(p, q); }, x, y);
}
inline Floats Fma(Floats x, Floats y, Floats sum) {
  return Each([](auto p, auto q, auto s) { return vfmaq_f32(s, p, q); }, x, y, sum);
}
inline Floats LoadFloats(const float* p) {
  return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}
inline Floats LoadFloats(const Fp16* p) {
  const auto four = [&](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p[i].bits))); };
  return {four(0), four(4), four(8), four(12)};
}
inline Floats LoadFloats(const Bf16* p) {
  const auto four = [&](int i) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&p[i].bits), 16)); };
  return {four(0), four(4), four(8), four(12)};
}
inline Floats LoadFloats(const int8_t* p) { return ToFloats(WidenSigned(p)); }
inline Floats LoadFloats(const Fp8* p) {
  const auto f = [](int32x4_t signed_bits) {
    const uint32x4_t wide = vreinterpretq_u32_s32(signed_bits);
    const uint32x4_t magnitude = vandq_u32(vshlq_n_u32(wide, 20), vdupq_n_u32(0x07f00000));
    const uint32x4_t none = vceqq_u32(magnitude, vdupq_n_u32(0x07f00000));
    const float32x4_t value = vmulq_n_f32(vreinterpretq_f32_u32(magnitude), 0x1p120f);  // rebiases subnormals too
    const uint32x4_t bits = vbslq_u32(none, vdupq_n_u32(0x7fc00000), vreinterpretq_u32_f32(value));
    return vreinterpretq_f32_u32(vbslq_u32(vdupq_n_u32(0x80000000), wide, bits));
  };
  return Each(f, WidenSigned(reinterpret_cast<const int8_t*>(p)));
}
// 8-bit floats as value / 256, which half floats represent, including subnormals (as floats these would slow the matmul
// down); NaN becomes a number.
inline Floats LoadDownscaled(const Fp8* p) {
  const auto eight = [&](int i) {
    const int16x8_t words = vshlq_n_s16(vmovl_s8(vld1_s8(reinterpret_cast<const int8_t*>(p + i))), 7);
    return vandq_u16(vreinterpretq_u16_s16(words), vdupq_n_u16(0xbf80));  // clears the copy of the sign
  };
  const auto four = [](uint16x4_t halves) { return vcvt_f32_f16(vreinterpret_f16_u16(halves)); };
  const uint16x8_t low = eight(0), high = eight(8);
  return {four(vget_low_u16(low)), four(vget_high_u16(low)), four(vget_low_u16(high)), four(vget_high_u16(high))};
}
inline float32x4_t LowBf16(uint32x4_t pairs) { return vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16)); }
inline float32x4_t HighBf16(uint32x4_t pairs) {
  return vreinterpretq_f32_u32(vandq_u32(pairs, vdupq_n_u32(0xffff0000)));
}
inline Two LoadTwo(const Bf16* p) {
  const uint32x4_t both = LoadEverywhere(p);
  return {LowBf16(both), HighBf16(both)};
}
// sum + a dot product of two bfloat16 per lane.
inline Floats DotBf16(Floats sum, Bytes weights, Two two) {
  const auto f = [=](auto s, auto w) {
    const uint32x4_t pairs = vreinterpretq_u32_u8(w);
    return vfmaq_f32(vfmaq_f32(s, LowBf16(pairs), two.low), HighBf16(pairs), two.high);
  };
  return Each(f, sum, weights);
}
inline void StoreFloats(Fp16* p, Floats v) {
  const auto four = [&](int i, float32x4_t x) { vst1_u16(&p[i].bits, vreinterpret_u16_f16(vcvt_f16_f32(x))); };
  four(0, v.a);
  four(4, v.b);
  four(8, v.c);
  four(12, v.d);
}
inline void StoreFloats(float* p, Floats v) {
  vst1q_f32(p, v.a);
  vst1q_f32(p + 4, v.b);
  vst1q_f32(p + 8, v.c);
  vst1q_f32(p + 12, v.d);
}

}  // namespace
}  // namespace inferflux::compute::cpu

#include "compute/cpu/kernels/simd/wide_sums.h"
