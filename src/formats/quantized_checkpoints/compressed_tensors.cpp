// Integers in the format of the package compressed-tensors.
#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "formats/quantized_checkpoints/gptq_awq.h"
#include "formats/quantized_checkpoints/tensor_checks.h"

namespace inferflux::formats {
namespace {

using Dtype = SafetensorsDtype;

// weight_shape: outputs and inputs.
Result<std::pair<int64_t, int64_t>> ReadShape(const SafetensorsTensor& shape) {
  if (auto checked = CheckKind(shape, {Dtype::kI64, Dtype::kI32}, 1); !checked) return Forward(checked);
  if (shape.elements() != 2) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} values, but should be outputs and inputs", shape.name,
                shape.elements());
  }
  const auto at = [&](size_t i) -> int64_t {
    if (shape.dtype == Dtype::kI64) {
      int64_t value;
      std::memcpy(&value, shape.data.data() + i * sizeof value, sizeof value);
      return value;
    }
    int32_t value;
    std::memcpy(&value, shape.data.data() + i * sizeof value, sizeof value);
    return value;
  };
  const int64_t outputs = at(0), inputs = at(1);
  if (std::min(outputs, inputs) < 1 || std::max(outputs, inputs) > kMaxTensorDimension) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' says [{}, {}]; dimensions of 1 to {} are read", shape.name, outputs,
                inputs, kMaxTensorDimension);
  }
  return std::pair{outputs, inputs};
}

int64_t WordsOf(int64_t numbers, uint32_t bits) { return (numbers * bits + 31) / 32; }

// A checkpoint without act-order may still have a g_idx, which the package fills with -1.
bool SaysNoOrder(const SafetensorsTensor& group_of) {
  if (group_of.dtype != Dtype::kI32) return false;  // refused by name later
  for (uint64_t i = 0; i < group_of.elements(); ++i) {
    int32_t group;
    std::memcpy(&group, group_of.data.data() + i * sizeof group, sizeof group);
    if (group == -1) return true;
  }
  return false;
}

}  // namespace

Status GroupwiseInts::OpenPackedRows(const CompressedTensorsInts& tensors, std::span<const uint32_t> known_bits) {
  const SafetensorsTensor& weight = *tensors.weight;
  if (auto checked = CheckKind(weight, {Dtype::kI32}, 2); !checked) return checked;
  const auto shape = ReadShape(*tensors.shape);
  if (!shape) return Forward(shape);
  std::tie(outputs_, inputs_) = *shape;
  const uint64_t words = weight.shape[1];
  uint32_t found = 0;
  for (const uint32_t bits : {2u, 4u, 8u}) {
    const bool known = known_bits.empty() || std::ranges::find(known_bits, bits) != known_bits.end();
    if (known && static_cast<uint64_t>(WordsOf(inputs_, bits)) == words) found = found == 0 ? bits : 1;
  }
  if (found < 2 || weight.shape[0] != static_cast<uint64_t>(outputs_)) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' is [{}, {}], which are not numbers of {} bits for '{}' of [{}, {}]",
                weight.name, weight.shape[0], words,
                known_bits.size() == 1 ? fmt::format("{}", known_bits.front()) : "2, 4 or 8", tensors.shape->name,
                outputs_, inputs_);
  }
  format_.bits = found;
  numbers_ = Numbers::kRows;
  return {};
}

Status GroupwiseInts::OpenZeros(const SafetensorsTensor& zeros, const SafetensorsTensor& weight) {
  const auto outputs = static_cast<uint64_t>(outputs_), groups = static_cast<uint64_t>(groups_);
  qzeros_ = zeros.data.data();
  if (zeros.dtype == Dtype::kI8) {
    zeros_ = Zeros::kBytes;
    if (zeros.elements() == 1) return {};
    zero_steps_ = {.group = 1, .output = groups_};
    return CheckShape(zeros, {outputs, groups}, weight);
  }
  if (auto checked = CheckKind(zeros, {Dtype::kI8, Dtype::kI32}, 2); !checked) return checked;
  zeros_ = Zeros::kOfOutputs;
  return CheckShape(zeros, {static_cast<uint64_t>(WordsOf(outputs_, format_.bits)), groups}, weight);
}

Result<GroupwiseInts> GroupwiseInts::OpenCompressed(const CompressedTensorsInts& tensors,
                                                    std::span<const uint32_t> known_bits) {
  const SafetensorsTensor &weight = *tensors.weight, &scales = *tensors.scales;
  GroupwiseInts out;
  if (tensors.shape != nullptr) {
    if (auto opened = out.OpenPackedRows(tensors, known_bits); !opened) return Forward(opened);
  } else {
    if (auto checked = CheckKind(weight, {Dtype::kI8}, 2); !checked) return Forward(checked);
    if (std::max(weight.shape[0], weight.shape[1]) > static_cast<uint64_t>(kMaxTensorDimension)) {
      return Fail(ErrorCode::kDataLoss, "tensor '{}' is [{}, {}]; at most {} is read", weight.name, weight.shape[0],
                  weight.shape[1], kMaxTensorDimension);
    }
    out.outputs_ = static_cast<int64_t>(weight.shape[0]);
    out.inputs_ = static_cast<int64_t>(weight.shape[1]);
    out.format_.bits = 8;
    out.numbers_ = Numbers::kBytes;
  }
  out.groups_ = 1;
  if (scales.elements() != 1) {  // otherwise one for all
    if (auto checked = CheckKind(scales, {Dtype::kF16, Dtype::kBf16, Dtype::kF32}, 2); !checked)
      return Forward(checked);
    const uint64_t groups = scales.shape[1];
    if (auto checked = CheckShape(scales, {static_cast<uint64_t>(out.outputs_), groups}, weight); !checked)
      return Forward(checked);
    if (static_cast<uint64_t>(out.inputs_) % groups != 0) {
      return Fail(ErrorCode::kDataLoss, "tensor '{}' has scales for {} groups, which the {} inputs of '{}' are not",
                  scales.name, groups, out.inputs_, weight.name);
    }
    out.groups_ = static_cast<int64_t>(groups);
    out.scale_steps_ = {.group = 1, .output = out.groups_};
  }
  out.scales_ = &scales;
  out.qweight_ = weight.data.data();
  if (tensors.zeros != nullptr) {
    if (auto opened = out.OpenZeros(*tensors.zeros, weight); !opened) return Forward(opened);
  }
  const SafetensorsTensor* group_of = tensors.group_of;
  if (group_of != nullptr) {
    if (auto checked = CheckShape(*group_of, {static_cast<uint64_t>(out.inputs_)}, weight); !checked)
      return Forward(checked);
    if (SaysNoOrder(*group_of)) group_of = nullptr;
  }
  const int64_t group_size = out.inputs_ / out.groups_;
  if (auto read = out.ReadGroups(group_of, group_size); !read) return Forward(read);
  if (auto chosen = out.ChooseType(group_size); !chosen) return Forward(chosen);
  return out;
}

}  // namespace inferflux::formats
