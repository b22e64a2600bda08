// Sixteen lanes in plain C++: for machines without the other instruction sets, and to check those against.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace inferflux::compute::cpu {
namespace {

template <class T, int kCount>
struct Array {
  T v[kCount];
};
using Ints = Array<int32_t, 16>;
using Floats = Array<float, 16>;
using Bytes = Array<uint8_t, 64>;
using Pairs = Array<int16_t, 32>;
using Quad = const int8_t*;
using Two = const Bf16*;

constexpr int kChunkRows = 2;
constexpr int kBlockRows = 2;
constexpr int kDenseRows = 2;
constexpr int kDensePanels = 1;
constexpr int kFloatRows = 2;
constexpr int kFloatSums = 4;
constexpr int kScoreGroups = 2;
constexpr int kMeterSums = 12;
constexpr bool kPairedSums = false;
constexpr bool kUnpacksOnce = false;
constexpr int32_t kSignedOffset = 0;

// { f(0), f(1), ... }
template <class Out, class F>
inline Out Fill(F f) {
  Out out;
  for (size_t i = 0; i < sizeof(out.v) / sizeof(out.v[0]); ++i) out.v[i] = f(i);
  return out;
}
template <class Out>
inline Out LoadArray(const void* p) {
  Out out;
  std::memcpy(&out, p, sizeof out);
  return out;
}

inline Ints ZeroInts() { return {}; }
inline Ints SetInts(int32_t value) {
  return Fill<Ints>([=](size_t) { return value; });
}
inline Ints MulAdd(const Ints& a, const Ints& b, const Ints& sum) {
  return Fill<Ints>([&](size_t i) { return sum.v[i] + a.v[i] * b.v[i]; });
}
inline Ints WidenUnsigned(const uint8_t* p) {
  return Fill<Ints>([=](size_t i) { return int32_t{p[i]}; });
}
inline Ints WidenSigned(const int8_t* p) {
  return Fill<Ints>([=](size_t i) { return int32_t{p[i]}; });
}

inline Quad LoadQuad(const int8_t* p) { return p; }
inline Bytes LoadBytes(const void* p) { return LoadArray<Bytes>(p); }
inline void StoreBytes(void* p, const Bytes& v) { std::memcpy(p, &v, sizeof v); }
inline Bytes Or(const Bytes& a, const Bytes& b) {
  return Fill<Bytes>([&](size_t i) { return static_cast<uint8_t>(a.v[i] | b.v[i]); });
}
// (byte >> kShift) & mask
template <int kShift>
inline Bytes Bits(const Bytes& x, int mask) {
  return Fill<Bytes>([&](size_t i) { return static_cast<uint8_t>((x.v[i] >> kShift) & mask); });
}
// byte << kShift, for bytes that do not overflow
template <int kShift>
inline Bytes Up(const Bytes& x) {
  return Fill<Bytes>([&](size_t i) { return static_cast<uint8_t>(x.v[i] << kShift); });
}
inline Bytes FromSigned(const Bytes& x) { return x; }
// 16 bytes, repeated; and a look-up of them for each byte of `indices`, which are below 16.
inline Bytes LoadTable(const int8_t* p) {
  return Fill<Bytes>([=](size_t i) { return static_cast<uint8_t>(p[i % 16]); });
}
inline Bytes LookUp(const Bytes& table, const Bytes& indices) {
  return Fill<Bytes>([&](size_t i) { return table.v[indices.v[i]]; });
}

// sum + a dot product of four bytes per lane; exact.
inline Ints Dot(const Ints& sum, const Bytes& weights, Quad four) {
  return Fill<Ints>([&](size_t i) {
    const uint8_t* w = weights.v + 4 * i;
    return sum.v[i] + w[0] * four[0] + w[1] * four[1] + w[2] * four[2] + w[3] * four[3];
  });
}
inline Ints DotSigned(const Ints& sum, const Bytes& weights, Quad four) {
  return Fill<Ints>([&](size_t i) {
    const auto at = [&](int j) { return static_cast<int8_t>(weights.v[4 * i + j]) * four[j]; };
    return sum.v[i] + at(0) + at(1) + at(2) + at(3);
  });
}

inline Pairs WidenPairs(const uint8_t* p) {
  return Fill<Pairs>([=](size_t i) { return int16_t{p[i]}; });
}
// sum + a dot product of two per lane, with the two numbers at `two`.
inline Ints DotPairs(const Ints& sum, const Pairs& weights, const int16_t* two) {
  return Fill<Ints>([&](size_t i) { return sum.v[i] + weights.v[2 * i] * two[0] + weights.v[2 * i + 1] * two[1]; });
}

inline Floats ZeroFloats() { return {}; }
inline Floats SetFloats(float value) {
  return Fill<Floats>([=](size_t) { return value; });
}
inline Floats ToFloats(const Ints& x) {
  return Fill<Floats>([&](size_t i) { return static_cast<float>(x.v[i]); });
}
inline Floats Mul(const Floats& a, const Floats& b) {
  return Fill<Floats>([&](size_t i) { return a.v[i] * b.v[i]; });
}
// Not fused: without the instruction it is a library call, and results differ between instruction sets anyway.
inline Floats Fma(const Floats& a, const Floats& b, const Floats& sum) {
  return Fill<Floats>([&](size_t i) { return sum.v[i] + a.v[i] * b.v[i]; });
}
inline Floats LoadFloats(const float* p) { return LoadArray<Floats>(p); }
inline Floats LoadFloats(const Fp16* p) {
  return Fill<Floats>([=](size_t i) { return ToFloat(p[i]); });
}
inline Floats LoadFloats(const Bf16* p) {
  return Fill<Floats>([=](size_t i) { return ToFloat(p[i]); });
}
inline Floats LoadFloats(const Fp8* p) {
  return Fill<Floats>([=](size_t i) { return ToFloat(p[i]); });
}
// 8-bit floats as value / 256, which half floats represent, including subnormals (as floats these would slow the matmul
// down); NaN becomes a number.
inline Floats LoadDownscaled(const Fp8* p) {
  return Fill<Floats>([=](size_t i) {
    return ToFloat(Fp16{static_cast<uint16_t>((p[i].bits & 0x80) << 8 | (p[i].bits & 0x7f) << 7)});
  });
}
inline Floats LoadFloats(const int8_t* p) {
  return Fill<Floats>([=](size_t i) { return static_cast<float>(p[i]); });
}
inline Two LoadTwo(const Bf16* p) { return p; }
// sum + a dot product of two bfloat16 per lane.
inline Floats DotBf16(const Floats& sum, const Bytes& weights, Two two) {
  const auto pairs = std::bit_cast<Array<Bf16, 32>>(weights);
  return Fill<Floats>([&](size_t i) {
    const float first = sum.v[i] + ToFloat(pairs.v[2 * i]) * ToFloat(two[0]);
    return first + ToFloat(pairs.v[2 * i + 1]) * ToFloat(two[1]);
  });
}
inline void StoreFloats(Fp16* p, const Floats& v) {
  for (int i = 0; i < 16; ++i) p[i] = ToFp16(v.v[i]);
}
inline void StoreFloats(float* p, const Floats& v) { std::memcpy(p, &v, sizeof v); }

}  // namespace
}  // namespace inferflux::compute::cpu

#include "compute/cpu/kernels/simd/wide_sums.h"
