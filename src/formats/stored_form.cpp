#include "formats/stored_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"

namespace inferflux::formats {
namespace {

constexpr uint64_t kMostWeights = uint64_t{1} << 50;

bool FitsWeights(const AffineForm& form, int64_t weights, int64_t inputs) {
  if (inputs % form.group != 0) return false;
  const auto count = static_cast<uint64_t>(weights);
  const uint64_t scale_bytes = count / static_cast<uint64_t>(form.group) * Traits(form.scale_type).block_bytes;
  return form.words.size() * 8 == count * static_cast<uint64_t>(form.bits) && form.scales.size() == scale_bytes &&
         form.biases.size() == scale_bytes;
}

bool FitsWeights(const Fp8Form& form, int64_t weights, int64_t inputs) {
  if (form.block_outputs < 1 || form.block_inputs < 1) return false;
  if (form.block_inputs < inputs && form.block_inputs % kFp8Run != 0) return false;
  const int64_t outputs = weights / inputs, rows = (outputs + form.block_outputs - 1) / form.block_outputs;
  return std::ssize(form.values) == weights && std::ssize(form.scales) == rows * ScaleColumns(form, inputs);
}

}  // namespace

std::string StoredFormName(const StoredForm& form) {
  const auto* affine = std::get_if<AffineForm>(&form);
  return affine != nullptr ? fmt::format("MLX {}-bit", affine->bits) : "FP8";
}

size_t StoredBytes(const StoredForm& form) {
  if (const auto* affine = std::get_if<AffineForm>(&form)) {
    return affine->words.size() + affine->scales.size() + affine->biases.size();
  }
  const auto& fp8 = std::get<Fp8Form>(form);
  return fp8.values.size() + fp8.scales.size_bytes();
}

int64_t StoredBytes(const StoredForm& form, int64_t outputs, int64_t inputs) {
  if (const auto* affine = std::get_if<AffineForm>(&form)) {
    const auto scale_bytes = static_cast<int64_t>(Traits(affine->scale_type).block_bytes);
    return outputs * (inputs * affine->bits / 8 + 2 * (inputs / affine->group) * scale_bytes);
  }
  const auto& fp8 = std::get<Fp8Form>(form);
  const int64_t rows = (outputs + fp8.block_outputs - 1) / fp8.block_outputs;
  return outputs * inputs + rows * ScaleColumns(fp8, inputs) * static_cast<int64_t>(sizeof(float));
}

bool Fits(const StoredForm& form, int64_t outputs, int64_t inputs) {
  const auto weights = CheckedMul(static_cast<uint64_t>(outputs), static_cast<uint64_t>(inputs));
  if (!weights || *weights > kMostWeights) return false;
  return std::visit([&](const auto& each) { return FitsWeights(each, static_cast<int64_t>(*weights), inputs); }, form);
}

}  // namespace inferflux::formats
