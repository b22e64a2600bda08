// The values of GGUF metadata, as stored in the file. Source: the GGUF specification (ggml's docs/gguf.md), versions 2
// and 3, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace inferflux::formats {

enum class GgufValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
inline constexpr uint32_t kGgufValueTypeCount = 13;

// Bytes of one value; 0 for strings and arrays, whose size is in the file.
constexpr uint32_t GgufScalarBytes(GgufValueType type) {
  switch (type) {
    case GgufValueType::kUint8:
    case GgufValueType::kInt8:
    case GgufValueType::kBool:
      return 1;
    case GgufValueType::kUint16:
    case GgufValueType::kInt16:
      return 2;
    case GgufValueType::kUint32:
    case GgufValueType::kInt32:
    case GgufValueType::kFloat32:
      return 4;
    case GgufValueType::kUint64:
    case GgufValueType::kInt64:
    case GgufValueType::kFloat64:
      return 8;
    case GgufValueType::kString:
    case GgufValueType::kArray:
      return 0;
  }
  return 0;
}

constexpr std::string_view GgufValueTypeName(GgufValueType type) {
  constexpr std::string_view kNames[] = {"uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
                                         "bool",  "string", "array",  "uint64", "int64",  "float64"};
  return kNames[static_cast<uint32_t>(type)];
}

// One key and its value, checked when the file was read. The views point into the file's bytes.
struct GgufEntry {
  std::string_view key;
  GgufValueType type = GgufValueType::kUint8;
  GgufValueType element_type = GgufValueType::kUint8;  // arrays only
  uint64_t count = 1;                                  // elements of an array; 1 otherwise
  std::span<const std::byte> payload;  // a scalar, a string's text, or an array's elements back to back (unaligned)
  std::span<const std::byte> encoded;  // type and value, as the file holds them: for verbatim copies
  uint64_t offset = 0;                 // of `encoded`, from the start of the file; 0 if it was made in memory
};

}  // namespace inferflux::formats
