// Group-wise integer weights of GPTQ, AWQ and compressed-tensors checkpoints: w[o][i] = scale[g][o] * (q[o][i] -
// zero[g][o]), where g is the group of input i.
//
// Sources: GPTQ (arXiv:2210.17323) as packed by AutoGPTQ and GPTQModel, AWQ (arXiv:2306.00978) as AutoAWQ's "gemm",
// "pack-quantized" and "int-quantized" as written by the package compressed-tensors (0.20).
// They are read as the smallest GGUF type that holds every weight exactly: Q4_0 with zero points in the middle
// (symmetric quantisation), Q8_0 with others, F32 if neighbouring inputs belong to different groups (act-order,
// desc_act) or float16 cannot hold the scale. A group whose numbers are all zero may have any scale. If act-order is
// the only obstacle, the weight also has a layout with the inputs in the order of their groups.
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
  uint32_t zero_bias = 0;  // added to a stored zero point: GPTQ's first format stores them minus 1
};

struct GroupwiseIntsTensors {
  const SafetensorsTensor* qweight = nullptr;
  const SafetensorsTensor* qzeros = nullptr;
  const SafetensorsTensor* scales = nullptr;    // [groups, outputs]
  const SafetensorsTensor* group_of = nullptr;  // g_idx, [inputs]; null: inputs are in the order of their groups
};

struct CompressedTensorsInts {
  // weight_packed, [outputs, inputs * bits / 32] of I32, the first input lowest; or I8 [outputs, inputs]
  const SafetensorsTensor* weight = nullptr;
  const SafetensorsTensor* scales = nullptr;  // weight_scale, [outputs, groups]; or one value
  const SafetensorsTensor* shape = nullptr;   // weight_shape, [2] of I64 or I32: outputs, inputs; null if weight is I8
  // weight_zero_point; null: symmetric. I8 [outputs, groups] or one value, or I32 [outputs * bits / 32, groups], the
  // first output lowest.
  const SafetensorsTensor* zeros = nullptr;
  const SafetensorsTensor* group_of = nullptr;  // weight_g_idx, [inputs]; null or with a -1: as above
};

class GroupwiseInts {
 public:
  // kDataLoss names both tensors if their shapes or types contradict each other. kUnsupported names the bits.
  static Result<GroupwiseInts> Open(const GroupwiseIntsTensors& tensors, const GroupwiseIntsFormat& format);
  // The bits of packed numbers follow from the shapes and must equal `known_bits` of config.json (none: any); groups
  // follow from the scales. Errors as for Open.
  static Result<GroupwiseInts> OpenCompressed(const CompressedTensorsInts& tensors,
                                              std::span<const uint32_t> known_bits);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  TensorType type() const { return type_; }

  // [outputs, inputs] in type(), outputs() rows of whole blocks.
  std::vector<std::byte> Read() const;

  // The weight in the order of its groups, if that is not the order of the inputs and an integer type holds the
  // numbers. layout() has no data; both borrow the permutation from here.
  std::optional<ActOrderLayout> layout() const;
  ActOrderLayout ReadLayout() const;

 private:
  enum class Numbers { kGptq, kAwq, kRows, kBytes };  // GroupwiseIntsFormat's packings, CompressedTensorsInts' two
  enum class Zeros {
    kMiddle,     // there are none
    kOfGroups,   // words of neighbouring outputs, [groups, words]
    kOfOutputs,  // words of neighbouring outputs, [words, groups]
    kBytes,
  };
  // Where the value of a group and an output is stored.
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

  static constexpr int kRun = 32;  // inputs unpacked at once
  using Run = uint8_t[kRun];

  // q of `count` inputs from `first`, a multiple of kRun.
  void UnpackRun(int64_t first, int64_t count, int64_t output, Run& out) const;
  // The same for kRun inputs from position `first` on in the order of groups.
  void UnpackInOrder(int64_t first, int64_t output, Run& out) const;
  int32_t Zero(int64_t group, int64_t output) const;
  std::vector<std::byte> ReadAs(TensorType type) const;
  bool AllZero(int64_t group, int64_t group_size, int64_t output) const;
  // Calls f(first input, output) for each run, in the order of the tensor.
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
  std::vector<int32_t> order_;  // inputs ordered by group; empty if they are in order, or the weight has no such layout
  TensorType ordered_type_ = TensorType::kF32;
};

}  // namespace inferflux::formats
