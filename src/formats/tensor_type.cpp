#include "formats/tensor_type.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "base/checked_math.h"

namespace inferflux::formats {
namespace {

constexpr auto kTypes = std::to_array<TensorTypeTraits>({
    {TensorType::kF32, "F32", 1, 4},          {TensorType::kF16, "F16", 1, 2},
    {TensorType::kQ4_0, "Q4_0", 32, 18},      {TensorType::kQ4_1, "Q4_1", 32, 20},
    {TensorType::kQ5_0, "Q5_0", 32, 22},      {TensorType::kQ5_1, "Q5_1", 32, 24},
    {TensorType::kQ8_0, "Q8_0", 32, 34},      {TensorType::kQ2_K, "Q2_K", 256, 84},
    {TensorType::kQ3_K, "Q3_K", 256, 110},    {TensorType::kQ4_K, "Q4_K", 256, 144},
    {TensorType::kQ5_K, "Q5_K", 256, 176},    {TensorType::kQ6_K, "Q6_K", 256, 210},
    {TensorType::kQ8_K, "Q8_K", 256, 292},    {TensorType::kIq2Xxs, "IQ2_XXS", 256, 66},
    {TensorType::kIq2Xs, "IQ2_XS", 256, 74},  {TensorType::kIq3Xxs, "IQ3_XXS", 256, 98},
    {TensorType::kIq1S, "IQ1_S", 256, 50},    {TensorType::kIq4Nl, "IQ4_NL", 32, 18},
    {TensorType::kIq3S, "IQ3_S", 256, 110},   {TensorType::kIq2S, "IQ2_S", 256, 82},
    {TensorType::kIq4Xs, "IQ4_XS", 256, 136}, {TensorType::kI8, "I8", 1, 1},
    {TensorType::kI16, "I16", 1, 2},          {TensorType::kI32, "I32", 1, 4},
    {TensorType::kI64, "I64", 1, 8},          {TensorType::kF64, "F64", 1, 8},
    {TensorType::kIq1M, "IQ1_M", 256, 56},    {TensorType::kBf16, "BF16", 1, 2},
    {TensorType::kTq1_0, "TQ1_0", 256, 54},   {TensorType::kTq2_0, "TQ2_0", 256, 66},
    {TensorType::kMxfp4, "MXFP4", 32, 17},    {TensorType::kNvfp4, "NVFP4", 64, 36},
});

const TensorTypeTraits* FindTraits(uint32_t id) {
  const auto it = std::lower_bound(kTypes.begin(), kTypes.end(), id, [](const TensorTypeTraits& traits, uint32_t key) {
    return static_cast<uint32_t>(traits.type) < key;
  });
  return it != kTypes.end() && static_cast<uint32_t>(it->type) == id ? &*it : nullptr;
}

// Ids from files of 2023 and 2024 that the format has since dropped.
bool HasLeftTheFormat(uint32_t id) { return id == 4 || id == 5 || (id >= 31 && id <= 33) || (id >= 36 && id <= 38); }

}  // namespace

std::span<const TensorTypeTraits> AllTensorTypes() { return kTypes; }

const TensorTypeTraits& Traits(TensorType type) { return *FindTraits(static_cast<uint32_t>(type)); }

Result<TensorType> TensorTypeFromId(uint32_t id) {
  if (FindTraits(id) != nullptr) return static_cast<TensorType>(id);
  if (HasLeftTheFormat(id)) {
    return Fail(ErrorCode::kUnsupported, "tensor type id {} has left the GGUF format; convert the model again", id);
  }
  return Fail(ErrorCode::kUnsupported, "tensor type id {} is unknown", id);
}

std::optional<TensorType> TensorTypeFromName(std::string_view name) {
  const auto same = [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == std::toupper(static_cast<unsigned char>(b));
  };
  for (const TensorTypeTraits& traits : kTypes) {
    if (std::equal(name.begin(), name.end(), traits.name.begin(), traits.name.end(), same)) return traits.type;
  }
  return std::nullopt;
}

Result<uint64_t> RowBytes(TensorType type, uint64_t elements) {
  const TensorTypeTraits& traits = Traits(type);
  if (elements % traits.block_elements != 0) {
    return Fail(ErrorCode::kDataLoss, "a row of {} elements is not a whole number of {} blocks of {}", elements,
                traits.name, traits.block_elements);
  }
  const auto bytes = CheckedMul(elements / traits.block_elements, traits.block_bytes);
  if (!bytes) return Fail(ErrorCode::kDataLoss, "a {} row of {} elements overflows 64 bits", traits.name, elements);
  return *bytes;
}

Result<uint64_t> TensorBytes(TensorType type, std::span<const uint64_t> dims) {
  if (dims.empty()) return Fail(ErrorCode::kDataLoss, "a tensor needs at least one dimension");
  uint64_t elements = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return Fail(ErrorCode::kDataLoss, "dimension {} is zero", i);
    const auto product = CheckedMul(elements, dims[i]);
    if (!product || *product > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Fail(ErrorCode::kDataLoss, "the element count overflows 63 bits at dimension {} of {}", i, dims[i]);
    }
    elements = *product;
  }
  const auto row = RowBytes(type, dims[0]);
  if (!row) return row;
  const auto bytes = CheckedMul(*row, elements / dims[0]);
  if (!bytes) return Fail(ErrorCode::kDataLoss, "{} elements of {} overflow 64 bits", elements, TensorTypeName(type));
  return *bytes;
}

}  // namespace inferflux::formats
