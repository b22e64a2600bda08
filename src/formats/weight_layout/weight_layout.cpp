#include "formats/weight_layout/weight_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"

namespace inferflux::formats {
namespace {

constexpr uint64_t kMostWeights = uint64_t{1} << 50;

bool FitsWeights(const AffineLayout& layout, int64_t weights, int64_t inputs) {
  if (inputs % layout.group != 0) return false;
  const auto count = static_cast<uint64_t>(weights);
  const uint64_t scale_bytes = count / static_cast<uint64_t>(layout.group) * Traits(layout.scale_type).block_bytes;
  return layout.words.size() * 8 == count * static_cast<uint64_t>(layout.bits) && layout.scales.size() == scale_bytes &&
         layout.biases.size() == scale_bytes;
}

bool FitsWeights(const Fp8Layout& layout, int64_t weights, int64_t inputs) {
  if (layout.block_outputs < 1 || layout.block_inputs < 1) return false;
  if (layout.block_inputs < inputs && layout.block_inputs % kFp8Run != 0) return false;
  const int64_t outputs = weights / inputs, rows = (outputs + layout.block_outputs - 1) / layout.block_outputs;
  return std::ssize(layout.values) == weights && std::ssize(layout.scales) == rows * ScaleColumns(layout, inputs);
}

bool FitsWeights(const ActOrderLayout& layout, int64_t weights, int64_t inputs) {
  const auto row = RowBytes(layout.type, static_cast<uint64_t>(inputs));
  return row && layout.data.size() == *row * static_cast<uint64_t>(weights / inputs) &&
         std::ssize(layout.order) == inputs;
}

std::string NameOf(const AffineLayout& layout) { return fmt::format("MLX {}-bit", layout.bits); }
std::string NameOf(const Fp8Layout&) { return "FP8"; }
std::string NameOf(const ActOrderLayout& layout) { return std::string(TensorTypeName(layout.type)); }

size_t BytesOf(const AffineLayout& layout) { return layout.words.size() + layout.scales.size() + layout.biases.size(); }
size_t BytesOf(const Fp8Layout& layout) { return layout.values.size() + layout.scales.size_bytes(); }
size_t BytesOf(const ActOrderLayout& layout) { return layout.data.size() + layout.order.size_bytes(); }

int64_t BytesOf(const AffineLayout& layout, int64_t outputs, int64_t inputs) {
  const auto scale_bytes = static_cast<int64_t>(Traits(layout.scale_type).block_bytes);
  return outputs * (inputs * layout.bits / 8 + 2 * (inputs / layout.group) * scale_bytes);
}
int64_t BytesOf(const Fp8Layout& layout, int64_t outputs, int64_t inputs) {
  const int64_t rows = (outputs + layout.block_outputs - 1) / layout.block_outputs;
  return outputs * inputs + rows * ScaleColumns(layout, inputs) * static_cast<int64_t>(sizeof(float));
}
int64_t BytesOf(const ActOrderLayout& layout, int64_t outputs, int64_t inputs) {
  const auto row = RowBytes(layout.type, static_cast<uint64_t>(inputs));
  return outputs * static_cast<int64_t>(row.value_or(0)) + inputs * static_cast<int64_t>(sizeof(int32_t));
}

}  // namespace

std::string WeightLayoutName(const WeightLayout& layout) {
  return std::visit([](const auto& each) { return NameOf(each); }, layout);
}

size_t StoredBytes(const WeightLayout& layout) {
  return std::visit([](const auto& each) { return BytesOf(each); }, layout);
}

int64_t StoredBytes(const WeightLayout& layout, int64_t outputs, int64_t inputs) {
  return std::visit([&](const auto& each) { return BytesOf(each, outputs, inputs); }, layout);
}

bool Fits(const WeightLayout& layout, int64_t outputs, int64_t inputs) {
  const auto weights = CheckedMul(static_cast<uint64_t>(outputs), static_cast<uint64_t>(inputs));
  if (inputs < 1 || !weights || *weights > kMostWeights) return false;
  return std::visit([&](const auto& each) { return FitsWeights(each, static_cast<int64_t>(*weights), inputs); },
                    layout);
}

}  // namespace inferflux::formats
