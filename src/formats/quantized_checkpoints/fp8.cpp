#include "formats/quantized_checkpoints/fp8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/half.h"
#include "formats/quantized_checkpoints/tensor_checks.h"

namespace inferflux::formats {
namespace {

// 4 significant bits times at most 4 more fit in BF16's 8, and the exponents stay in its range.
bool KeepsMatmulsInBf16(float scale) {
  const uint32_t bits = std::bit_cast<uint32_t>(scale);
  const int exponent = static_cast<int>((bits >> 23) & 255) - 127;
  return scale == 0.0f || ((bits & 0x0007ffffu) == 0 && exponent > -100 && exponent < 100);
}

}  // namespace

Result<Fp8Weights> Fp8Weights::Open(const SafetensorsTensor& weight, const SafetensorsTensor& scales,
                                    std::array<uint32_t, 2> block) {
  if (auto checked = CheckKind(weight, {SafetensorsDtype::kF8E4m3, SafetensorsDtype::kF8E5m2}, 2); !checked)
    return Forward(checked);
  Fp8Weights out;
  out.weight_ = &weight;
  out.outputs_ = static_cast<int64_t>(weight.shape[0]);
  out.inputs_ = static_cast<int64_t>(weight.shape[1]);
  if (std::max(out.outputs_, out.inputs_) > kMaxTensorDimension) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' is [{}, {}]; at most {} is read", weight.name, out.outputs_,
                out.inputs_, kMaxTensorDimension);
  }
  const auto outputs = static_cast<uint64_t>(out.outputs_), inputs = static_cast<uint64_t>(out.inputs_);
  if (scales.elements() == 1) {
    out.block_outputs_ = out.outputs_;
    out.block_inputs_ = out.inputs_;
  } else if (block[0] > 0 && block[1] > 0) {
    out.block_outputs_ = block[0];
    out.block_inputs_ = block[1];
    const uint64_t rows = (outputs + block[0] - 1) / block[0], columns = (inputs + block[1] - 1) / block[1];
    if (auto checked = CheckShape(scales, {rows, columns}, weight); !checked) return Forward(checked);
    out.block_columns_ = static_cast<int64_t>(columns);
  } else {
    const bool column = scales.shape.size() == 2 && scales.shape[0] == outputs && scales.shape[1] == 1;
    auto checked = column ? Status() : CheckShape(scales, {outputs}, weight);
    if (!checked) return Forward(checked);
    out.block_inputs_ = out.inputs_;
  }
  auto values = ReadScaleTensor(scales);
  if (!values) return Forward(values);
  if (std::ranges::all_of(*values, KeepsMatmulsInBf16)) out.type_ = TensorType::kBf16;
  out.scales_ = std::make_shared<const std::vector<float>>(std::move(*values));
  return out;
}

std::optional<Fp8Layout> Fp8Weights::layout() const {
  const bool long_runs = block_inputs_ >= inputs_ || block_inputs_ % kFp8Run == 0;
  if (type_ != TensorType::kF32 || weight_->dtype != SafetensorsDtype::kF8E4m3 || !long_runs) return std::nullopt;
  if (std::ranges::any_of(*scales_, [](float scale) { return std::abs(scale) >= kMostFp8Scale; })) return std::nullopt;
  return Fp8Layout{.block_outputs = block_outputs_,
                   .block_inputs = block_inputs_,
                   .values = weight_->data,
                   .scales = *scales_,
                   .owner = scales_};
}

std::vector<std::byte> Fp8Weights::Read() const {
  const size_t bytes = type_ == TensorType::kBf16 ? 2 : 4;
  std::vector<std::byte> out(static_cast<size_t>(outputs_ * inputs_) * bytes);
  std::vector<float> row(static_cast<size_t>(inputs_));
  for (int64_t o = 0; o < outputs_; ++o) {
    ToFloats(weight_->dtype, weight_->data.data() + o * inputs_, row.data(), inputs_);
    for (int64_t i = 0; i < inputs_; ++i) row[static_cast<size_t>(i)] *= Scale(o, i);
    std::byte* to = out.data() + static_cast<size_t>(o * inputs_) * bytes;
    if (type_ == TensorType::kF32) {
      std::memcpy(to, row.data(), row.size() * sizeof(float));
      continue;
    }
    for (int64_t i = 0; i < inputs_; ++i) {
      const Bf16 value = ToBf16(row[static_cast<size_t>(i)]);
      std::memcpy(to + i * 2, &value, 2);
    }
  }
  return out;
}

}  // namespace inferflux::formats
