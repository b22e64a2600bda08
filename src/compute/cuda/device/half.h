// 16-bit and 8-bit floats in device code: base/half.h's storage types, with conversions that round to nearest even
// (PTX ISA, section "cvt").
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "compute/cuda/device/language.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

namespace inferflux::cuda {

// The bits of a float.
__device__ inline uint32_t FloatBits(float value) {
#ifdef __CUDACC__
  return __float_as_uint(value);
#else
  return std::bit_cast<uint32_t>(value);
#endif
}

__device__ inline float FloatOfBits(uint32_t bits) {
#ifdef __CUDACC__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

__device__ inline float AsFloat(float value) { return value; }
__device__ inline float AsFloat(int8_t value) { return static_cast<float>(value); }

__device__ inline float AsFloat(Fp16 value) {
#ifdef __CUDACC__
  return __half2float(__ushort_as_half(value.bits));
#else
  return ToFloat(value);
#endif
}

__device__ inline float AsFloat(Bf16 value) {
#ifdef __CUDACC__
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
#else
  return ToFloat(value);
#endif
}

__device__ inline float AsFloat(Fp8 value) {
#ifdef __CUDACC__
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, __NV_E4M3)));
#else
  return ToFloat(value);
#endif
}

template <class T>
__device__ T FromFloat(float value);

template <>
__device__ inline float FromFloat(float value) {
  return value;
}

template <>
__device__ inline Fp16 FromFloat(float value) {
#ifdef __CUDACC__
  return {__half_as_ushort(__float2half_rn(value))};
#else
  return ToFp16(value);
#endif
}

template <>
__device__ inline Bf16 FromFloat(float value) {
#ifdef __CUDACC__
  return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#else
  return ToBf16(value);
#endif
}

// Beyond 448 it becomes 448 (PTX ISA, section "cvt": .rn.satfinite.e4m3x2).
template <>
__device__ inline Fp8 FromFloat(float value) {
#ifdef __CUDACC__
  return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)};
#else
  return ToFp8(value);
#endif
}

// Two elements of 16 bits in a word, the first one low (PTX ISA, section "cvt": .rn.f16x2.f32 and .rn.bf16x2.f32). T is
// Fp16 or Bf16.
template <class T>
__device__ inline uint32_t TwoFromFloats(float first, float second) {
#ifdef __CUDACC__
  if constexpr (std::is_same_v<T, Fp16>) {
    const __half2 both = __floats2half2_rn(first, second);
    return static_cast<uint32_t>(__half_as_ushort(__low2half(both))) |
           static_cast<uint32_t>(__half_as_ushort(__high2half(both))) << 16;
  } else {
    const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    return static_cast<uint32_t>(__bfloat16_as_ushort(__low2bfloat16(both))) |
           static_cast<uint32_t>(__bfloat16_as_ushort(__high2bfloat16(both))) << 16;
  }
#else
  return FromFloat<T>(first).bits | static_cast<uint32_t>(FromFloat<T>(second).bits) << 16;
#endif
}

}  // namespace inferflux::cuda
