// The element types of tensors on disk, with the ids of GGUF files (ggml's `ggml_type`).
//
// A row of a tensor is a sequence of blocks: `block_elements` consecutive values share `block_bytes` bytes. Simple
// types are blocks of one element.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace inferflux::formats {

enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIq2Xxs = 16,
  kIq2Xs = 17,
  kIq3Xxs = 18,
  kIq1S = 19,
  kIq4Nl = 20,
  kIq3S = 21,
  kIq2S = 22,
  kIq4Xs = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIq1M = 29,
  kBf16 = 30,
  kTq1_0 = 34,
  kTq2_0 = 35,
  kMxfp4 = 39,
  kNvfp4 = 40,
};

struct TensorTypeTraits {
  TensorType type;
  std::string_view name;  // the usual spelling: "Q4_K", "IQ2_XXS", "BF16"
  uint32_t block_elements;
  uint32_t block_bytes;
};

// All types, in ascending order of their ids.
std::span<const TensorTypeTraits> AllTensorTypes();

// `type` must be one of the enumerators; convert ids from files with TensorTypeFromId first.
const TensorTypeTraits& Traits(TensorType type);
inline std::string_view TensorTypeName(TensorType type) { return Traits(type).name; }

// kUnsupported if the id is unknown, or names a type that the format has dropped.
Result<TensorType> TensorTypeFromId(uint32_t id);

// Case-insensitive: "q4_k" and "Q4_K" are equal.
std::optional<TensorType> TensorTypeFromName(std::string_view name);

// Bytes of one row of `elements` values. An error if they are not a whole number of blocks, or if the size overflows.
Result<uint64_t> RowBytes(TensorType type, uint64_t elements);

// Bytes of a tensor with these dimensions, fastest-varying first. None may be zero; the product must fit in 63 bits.
Result<uint64_t> TensorBytes(TensorType type, std::span<const uint64_t> dims);

}  // namespace inferflux::formats
