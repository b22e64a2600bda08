// The element types of safetensors files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/tensor_type.h"

namespace inferflux::formats {

enum class SafetensorsDtype : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E4m3,  // finite: no infinities, 0x7f and 0xff are NaN
  kF8E5m2,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kI64,
  kU64,
  kF64,
};

struct SafetensorsDtypeTraits {
  SafetensorsDtype dtype;
  std::string_view name;  // as files write it: "BF16", "F8_E4M3"
  uint32_t bytes;
  std::optional<TensorType> type;  // the GGUF type with the same layout, if there is one
};

const SafetensorsDtypeTraits& Traits(SafetensorsDtype dtype);
std::optional<SafetensorsDtype> SafetensorsDtypeFromName(std::string_view name);

// `n` elements as floats. `data` need not be aligned.
void ToFloats(SafetensorsDtype dtype, const std::byte* data, float* out, int64_t n);

}  // namespace inferflux::formats
