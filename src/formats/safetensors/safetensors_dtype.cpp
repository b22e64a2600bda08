#include "formats/safetensors/safetensors_dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace inferflux::formats {
namespace {

using Dtype = SafetensorsDtype;

constexpr auto kDtypes = std::to_array<SafetensorsDtypeTraits>({
    {Dtype::kBool, "BOOL", 1, std::nullopt},
    {Dtype::kU8, "U8", 1, std::nullopt},
    {Dtype::kI8, "I8", 1, TensorType::kI8},
    {Dtype::kF8E4m3, "F8_E4M3", 1, std::nullopt},
    {Dtype::kF8E5m2, "F8_E5M2", 1, std::nullopt},
    {Dtype::kI16, "I16", 2, TensorType::kI16},
    {Dtype::kU16, "U16", 2, std::nullopt},
    {Dtype::kF16, "F16", 2, TensorType::kF16},
    {Dtype::kBf16, "BF16", 2, TensorType::kBf16},
    {Dtype::kI32, "I32", 4, TensorType::kI32},
    {Dtype::kU32, "U32", 4, std::nullopt},
    {Dtype::kF32, "F32", 4, TensorType::kF32},
    {Dtype::kI64, "I64", 8, TensorType::kI64},
    {Dtype::kU64, "U64", 8, std::nullopt},
    {Dtype::kF64, "F64", 8, TensorType::kF64},
});

struct Float8E4m3 {
  uint8_t bits;
};
struct Float8E5m2 {
  uint8_t bits;
};

float Decode(Float8E4m3 value) {
  const int exponent = (value.bits >> 3) & 15;
  const int mantissa = value.bits & 7;
  float magnitude;
  if (exponent == 15 && mantissa == 7) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = static_cast<float>(mantissa) * 0x1p-9f;
  } else {
    magnitude = std::bit_cast<float>(static_cast<uint32_t>((exponent + 120) << 23 | mantissa << 20));
  }
  return value.bits & 0x80 ? -magnitude : magnitude;
}

float Decode(Float8E5m2 value) { return ToFloat(Fp16{static_cast<uint16_t>(value.bits << 8)}); }  // the top half
float Decode(Fp16 value) { return ToFloat(value); }
float Decode(Bf16 value) { return ToFloat(value); }
template <class T>
requires std::is_arithmetic_v<T>
float Decode(T value) { return static_cast<float>(value); }

template <class T>
void DecodeAll(const std::byte* data, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    out[i] = Decode(value);
  }
}

}  // namespace

const SafetensorsDtypeTraits& Traits(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)]; }

std::optional<Dtype> SafetensorsDtypeFromName(std::string_view name) {
  for (const SafetensorsDtypeTraits& traits : kDtypes) {
    if (traits.name == name) return traits.dtype;
  }
  return std::nullopt;
}

void ToFloats(Dtype dtype, const std::byte* data, float* out, int64_t n) {
  switch (dtype) {
    case Dtype::kBool:
    case Dtype::kU8:
      return DecodeAll<uint8_t>(data, out, n);
    case Dtype::kI8:
      return DecodeAll<int8_t>(data, out, n);
    case Dtype::kF8E4m3:
      return DecodeAll<Float8E4m3>(data, out, n);
    case Dtype::kF8E5m2:
      return DecodeAll<Float8E5m2>(data, out, n);
    case Dtype::kI16:
      return DecodeAll<int16_t>(data, out, n);
    case Dtype::kU16:
      return DecodeAll<uint16_t>(data, out, n);
    case Dtype::kF16:
      return DecodeAll<Fp16>(data, out, n);
    case Dtype::kBf16:
      return DecodeAll<Bf16>(data, out, n);
    case Dtype::kI32:
      return DecodeAll<int32_t>(data, out, n);
    case Dtype::kU32:
      return DecodeAll<uint32_t>(data, out, n);
    case Dtype::kF32:
      return DecodeAll<float>(data, out, n);
    case Dtype::kI64:
      return DecodeAll<int64_t>(data, out, n);
    case Dtype::kU64:
      return DecodeAll<uint64_t>(data, out, n);
    case Dtype::kF64:
      return DecodeAll<double>(data, out, n);
  }
}

}  // namespace inferflux::formats
