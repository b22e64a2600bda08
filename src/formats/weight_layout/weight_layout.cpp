#include "formats/weight_layout/weight_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"

namespace inferflux::formats {
namespace {

constexpr uint64_t kMostWeights = uint64_t{1} << 50;

bool FitsWeights(const AffineLayout& form, int64_t weights, int64_t inputs) {
  if (inputs % form.group != 0) return false;
  const auto count = static_cast<uint64_t>(weights);
  const uint64_t scale_bytes = count / static_cast<uint64_t>(form.group) * Traits(form.scale_type).block_bytes;
  return form.words.size() * 8 == count * static_cast<uint64_t>(form.bits) && form.scales.size() == scale_bytes &&
         form.biases.size() == scale_bytes;
}

bool FitsWeights(const Fp8Layout& form, int64_t weights, int64_t inputs) {
  if (form.block_outputs < 1 || form.block_inputs < 1) return false;
  if (form.block_inputs < inputs && form.block_inputs % kFp8Run != 0) return false;
  const int64_t outputs = weights / inputs, rows = (outputs + form.block_outputs - 1) / form.block_outputs;
  return std::ssize(form.values) == weights && std::ssize(form.scales) == rows * ScaleColumns(form, inputs);
}

bool FitsWeights(const ActOrderLayout& form, int64_t weights, int64_t inputs) {
  const auto row = RowBytes(form.type, static_cast<uint64_t>(inputs));
  return row && form.data.size() == *row * static_cast<uint64_t>(weights / inputs) && std::ssize(form.order) == inputs;
}

std::string NameOf(const AffineLayout& form) { return fmt::format("MLX {}-bit", form.bits); }
std::string NameOf(const Fp8Layout&) { return "FP8"; }
std::string NameOf(const ActOrderLayout& form) { return std::string(TensorTypeName(form.type)); }

size_t BytesOf(const AffineLayout& form) { return form.words.size() + form.scales.size() + form.biases.size(); }
size_t BytesOf(const Fp8Layout& form) { return form.values.size() + form.scales.size_bytes(); }
size_t BytesOf(const ActOrderLayout& form) { return form.data.size() + form.order.size_bytes(); }

int64_t BytesOf(const AffineLayout& form, int64_t outputs, int64_t inputs) {
  const auto scale_bytes = static_cast<int64_t>(Traits(form.scale_type).block_bytes);
  return outputs * (inputs * form.bits / 8 + 2 * (inputs / form.group) * scale_bytes);
}
int64_t BytesOf(const Fp8Layout& form, int64_t outputs, int64_t inputs) {
  const int64_t rows = (outputs + form.block_outputs - 1) / form.block_outputs;
  return outputs * inputs + rows * ScaleColumns(form, inputs) * static_cast<int64_t>(sizeof(float));
}
int64_t BytesOf(const ActOrderLayout& form, int64_t outputs, int64_t inputs) {
  const auto row = RowBytes(form.type, static_cast<uint64_t>(inputs));
  return outputs * static_cast<int64_t>(row.value_or(0)) + inputs * static_cast<int64_t>(sizeof(int32_t));
}

}  // namespace

std::string WeightLayoutName(const WeightLayout& form) {
  return std::visit([](const auto& each) { return NameOf(each); }, form);
}

size_t StoredBytes(const WeightLayout& form) {
  return std::visit([](const auto& each) { return BytesOf(each); }, form);
}

int64_t StoredBytes(const WeightLayout& form, int64_t outputs, int64_t inputs) {
  return std::visit([&](const auto& each) { return BytesOf(each, outputs, inputs); }, form);
}

bool Fits(const WeightLayout& form, int64_t outputs, int64_t inputs) {
  const auto weights = CheckedMul(static_cast<uint64_t>(outputs), static_cast<uint64_t>(inputs));
  if (inputs < 1 || !weights || *weights > kMostWeights) return false;
  return std::visit([&](const auto& each) { return FitsWeights(each, static_cast<int64_t>(*weights), inputs); }, form);
}

}  // namespace inferflux::formats
