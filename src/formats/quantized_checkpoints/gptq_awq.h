// Group-wise integer weights as GPTQ, AWQ and compressed-tensors checkpoints hold them:
// w[o][i] = scale[g][o] * (q[o][i] - zero[g][o]), g being the group of input i.
//
// Sources: GPTQ (arXiv:2210.17323) as AutoGPTQ and GPTQModel pack it, AWQ (arXiv:2306.00978) as AutoAWQ's "gemm" does,
// "pack-quantized" and "int-quantized" as the package compressed-tensors (0.20) writes them.
// They are read as the smallest of GGUF's types that holds every weight exactly: Q4_0 where zero points are in the
// middle (symmetric quantisation), Q8_0 where not, F32 where neighbouring inputs are of different groups (desc_act) or
// the scale is no float16. A group whose numbers are all zero may have any scale. Where only the order of inputs is in
// the way they have a form too, in which the inputs stand in the order of their groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"
#include "formats/weight_layout/act_order.h"

namespace inferflux::formats {

struct GroupwiseIntsFormat {
  enum class Packing {
    kGptq,  // qweight: [inputs * bits / 32, outputs], the first input lowest; qzeros: [groups, outputs * bits / 32]
    kAwq,   // qweight: [inputs, outputs / 8], qzeros: [groups, outputs / 8], from the lowest outputs 0 2 4 6 1 3 5 7
  };
  Packing packing = Packing::kGptq;
  uint32_t bits = 4;       // 2, 4 or 8; AWQ: 4
  int64_t group_size = 0;  // inputs; -1: all of them
  uint32_t zero_bias = 0;  // what is added to a stored zero point: GPTQ's first format holds them less 1
};

struct GroupwiseIntsTensors {
  const SafetensorsTensor* qweight = nullptr;
  const SafetensorsTensor* qzeros = nullptr;
  const SafetensorsTensor* scales = nullptr;    // [groups, outputs]
  const SafetensorsTensor* group_of = nullptr;  // g_idx, [inputs]; null: inputs lie in the order of their groups
};

struct CompressedTensorsInts {
  // weight_packed, [outputs, inputs * bits / 32] of I32, the first input lowest; or I8 [outputs, inputs]
  const SafetensorsTensor* weight = nullptr;
  const SafetensorsTensor* scales = nullptr;  // weight_scale, [outputs, groups]; or one value
  const SafetensorsTensor* shape =
      nullptr;  // weight_shape, [2] of I64 or I32: outputs, inputs; null where weight is I8
  // weight_zero_point; null: symmetric. I8 [outputs, groups] or one value, or I32 [outputs * bits / 32, groups], the
  // first output lowest.
  const SafetensorsTensor* zeros = nullptr;
  const SafetensorsTensor* group_of = nullptr;  // weight_g_idx, [inputs]; null or with a -1: as above
};

class GroupwiseInts {
 public:
  // kDataLoss where shapes or types contradict each other: both tensors are named. kUnsupported names the bits.
  static Result<GroupwiseInts> Open(const GroupwiseIntsTensors& tensors, const GroupwiseIntsFormat& format);
  // Bits of packed numbers follow from the shapes, and are of `known_bits`, which config.json names (none: of any);
  // groups from the scales. Errors as Open's.
  static Result<GroupwiseInts> OpenCompressed(const CompressedTensorsInts& tensors,
                                              std::span<const uint32_t> known_bits);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  TensorType type() const { return type_; }

  // [outputs, inputs] in type(), outputs() rows of whole blocks.
  std::vector<std::byte> Read() const;

  // In the order of their groups, where that is not that of the inputs and the numbers fit an integer type. form() has
  // no data; both borrow the order from here.
  std::optional<ActOrderLayout> form() const;
  ActOrderLayout ReadForm() const;

 private:
  enum class Numbers { kGptq, kAwq, kRows, kBytes };  // GroupwiseIntsFormat's packings, and CompressedTensorsInts' two
  enum class Zeros {
    kMiddle,     // there are none
    kOfGroups,   // words of neighbouring outputs, [groups, words]
    kOfOutputs,  // words of neighbouring outputs, [words, groups]
    kBytes,
  };
  // Where the value of a group and an output lies.
  struct Steps {
    int64_t group = 0, output = 0;
    size_t At(int64_t g, int64_t o) const { return static_cast<size_t>(g * group + o * output); }
  };

  GroupwiseInts() = default;
  Status OpenPackedRows(const CompressedTensorsInts& tensors, std::span<const uint32_t> known_bits);
  Status OpenZeros(const SafetensorsTensor& zeros, const SafetensorsTensor& weight);
  Status ReadGroups(const SafetensorsTensor* group_of, int64_t group_size);
  Status ChooseType(int64_t group_size);
  bool PackGroupsInOrder(int64_t group_size);
  std::optional<TensorType> IntegerType() const;
  bool ScalesAreHalves(const std::vector<float>& scales, int64_t group_size) const;

  static constexpr int kRun = 32;  // inputs that are unpacked at once
  using Run = uint8_t[kRun];

  // q of `count` inputs from `first`, a multiple of kRun.
  void UnpackRun(int64_t first, int64_t count, int64_t output, Run& out) const;
  // The same of kRun inputs that stand at `first` and on in the order of groups.
  void UnpackInOrder(int64_t first, int64_t output, Run& out) const;
  int32_t Zero(int64_t group, int64_t output) const;
  std::vector<std::byte> ReadAs(TensorType type) const;
  bool AllZero(int64_t group, int64_t group_size, int64_t output) const;
  // f(first input, output) for each run, in the order that the tensor has them.
  template <class F>
  void ForEachRun(const F& f) const;
  template <class Block>
  void ReadBlocks(const std::vector<float>& scales, std::byte* out) const;
  void ReadFloats(const std::vector<float>& scales, float* out) const;

  GroupwiseIntsFormat format_;
  Numbers numbers_ = Numbers::kGptq;
  const std::byte* qweight_ = nullptr;
  const std::byte* qzeros_ = nullptr;
  Zeros zeros_ = Zeros::kMiddle;
  const SafetensorsTensor* scales_ = nullptr;
  Steps scale_steps_, zero_steps_;  // zero_steps_: of kBytes
  int64_t inputs_ = 0, outputs_ = 0, groups_ = 0;
  std::vector<int32_t> group_of_;  // by input
  TensorType type_ = TensorType::kF32;
  std::vector<int32_t> order_;  // inputs by their groups; empty where they are in order, or have no such form
  TensorType ordered_type_ = TensorType::kF32;
};

}  // namespace inferflux::formats
