// Group-wise integer weights as GPTQ and AWQ checkpoints hold them: w[o][i] = scale[g][o] * (q[o][i] - zero[g][o]), g
// being the group of input i.
//
// Sources: GPTQ (arXiv:2210.17323) as AutoGPTQ and GPTQModel pack it, AWQ (arXiv:2306.00978) as AutoAWQ's "gemm" does.
// They are read as the smallest of GGUF's types that holds every weight exactly: Q4_0 where zero points are in the
// middle (symmetric quantisation), Q8_0 where not, F32 where neighbouring inputs are of different groups (desc_act) or
// the scale is no float16. In the former case they have a form too, in which the inputs stand in the order of their
// groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/ordered_form.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

struct GroupedIntsFormat {
  enum class Packing {
    kGptq,  // qweight: [inputs * bits / 32, outputs], the first input lowest; qzeros: [groups, outputs * bits / 32]
    kAwq,   // qweight: [inputs, outputs / 8], qzeros: [groups, outputs / 8], from the lowest outputs 0 2 4 6 1 3 5 7
  };
  Packing packing = Packing::kGptq;
  uint32_t bits = 4;       // 2, 4 or 8; AWQ: 4
  int64_t group_size = 0;  // inputs; -1: all of them
  uint32_t zero_bias = 0;  // what is added to a stored zero point: GPTQ's first format holds them less 1
};

struct GroupedIntsTensors {
  const SafetensorsTensor* qweight = nullptr;
  const SafetensorsTensor* qzeros = nullptr;
  const SafetensorsTensor* scales = nullptr;   // [groups, outputs]
  const SafetensorsTensor* group_of = nullptr;  // g_idx, [inputs]; null: inputs lie in the order of their groups
};

class GroupedInts {
 public:
  // kDataLoss where shapes or types contradict each other: both tensors are named. kUnsupported names the bits.
  static Result<GroupedInts> Open(const GroupedIntsTensors& tensors, const GroupedIntsFormat& format);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  TensorType type() const { return type_; }

  // [outputs, inputs] in type(), outputs() rows of whole blocks.
  std::vector<std::byte> Read() const;

  // In the order of their groups, where that is not that of the inputs and the numbers fit an integer type. form() has
  // no data; both borrow the order from here.
  std::optional<OrderedForm> form() const;
  OrderedForm ReadForm() const;

 private:
  GroupedInts() = default;
  Status ReadGroups(const SafetensorsTensor* group_of, int64_t group_size);
  Status ChooseType(int64_t group_size);
  std::optional<TensorType> IntegerType() const;

  static constexpr int kRun = 32;  // inputs that are unpacked at once
  using Run = uint8_t[kRun];

  // q of `count` inputs from `first`, a multiple of kRun.
  void UnpackRun(int64_t first, int64_t count, int64_t output, Run& out) const;
  // The same of inputs that stand at `first` and on in the order of groups.
  void UnpackOrdered(int64_t first, int64_t output, Run& out) const;
  int32_t Zero(int64_t group, int64_t output) const;
  std::vector<std::byte> ReadAs(TensorType type) const;
  template <class Block>
  void ReadBlocks(const std::vector<float>& scales, std::byte* out) const;
  void ReadFloats(const std::vector<float>& scales, float* out) const;

  GroupedIntsFormat format_;
  const std::byte* qweight_ = nullptr;
  const std::byte* qzeros_ = nullptr;
  const SafetensorsTensor* scales_ = nullptr;  // [groups, outputs]
  int64_t inputs_ = 0, outputs_ = 0, groups_ = 0;
  std::vector<int32_t> group_of_;  // by input
  TensorType type_ = TensorType::kF32;
  std::vector<int32_t> order_;  // inputs by their groups; empty where they are in order, or have no such form
  TensorType ordered_type_ = TensorType::kF32;
};

}  // namespace inferflux::formats
