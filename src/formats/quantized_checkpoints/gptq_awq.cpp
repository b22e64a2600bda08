#include "formats/quantized_checkpoints/gptq_awq.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "base/half.h"
#include "formats/quant/blocks.h"
#include "formats/quantized_checkpoints/tensor_checks.h"

namespace inferflux::formats {
namespace {

using Packing = GroupwiseIntsFormat::Packing;

// AWQ's place of output o of eight, counted from the lowest bits.
constexpr int kAwqPlace[8] = {0, 4, 1, 5, 2, 6, 3, 7};

uint32_t WordAt(const std::byte* words, int64_t index) {
  uint32_t word;
  std::memcpy(&word, words + 4 * index, 4);
  return word;
}

// Number `index` of a row of packed numbers.
uint32_t Unpack(const std::byte* words, int64_t first_word, int64_t index, const GroupwiseIntsFormat& format) {
  const int64_t in_word = 32 / format.bits;
  const int64_t place = format.packing == Packing::kAwq ? kAwqPlace[index % 8] : index % in_word;
  const uint32_t word = WordAt(words, first_word + index / in_word);
  return (word >> (format.bits * place)) & ((1u << format.bits) - 1);
}

bool IsHalf(float value) { return ToFloat(ToFp16(value)) == value; }

// q - zero of a block, from -8 to 7 and from -128 to 127.
void Fill(BlockQ4_0& block, const uint8_t (&q)[kSmallBlock], int32_t zero) {
  const auto shift = static_cast<uint8_t>(8 - zero);
  for (int i = 0; i < 16; ++i) {
    const auto low = static_cast<uint8_t>(q[i] + shift), high = static_cast<uint8_t>(q[i + 16] + shift);
    block.qs[i] = static_cast<uint8_t>(low | high << 4);
  }
}
void Fill(BlockQ8_0& block, const uint8_t (&q)[kSmallBlock], int32_t zero) {
  for (int i = 0; i < kSmallBlock; ++i) block.qs[i] = static_cast<int8_t>(q[i] - zero);
}

}  // namespace

Result<GroupwiseInts> GroupwiseInts::Open(const GroupwiseIntsTensors& tensors, const GroupwiseIntsFormat& format) {
  const bool awq = format.packing == Packing::kAwq;
  if (format.bits != 4 && (awq || (format.bits != 2 && format.bits != 8))) {
    return Fail(ErrorCode::kUnsupported, "tensor '{}': weights of {} bits are not supported; supported are {}",
                tensors.qweight->name, format.bits, awq ? "4" : "2, 4 and 8");
  }
  if (format.group_size < -1 || format.group_size == 0) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}': a group_size of {}", tensors.qweight->name, format.group_size);
  }
  for (const SafetensorsTensor* tensor : {tensors.qweight, tensors.qzeros}) {
    if (auto checked = CheckKind(*tensor, {SafetensorsDtype::kI32, SafetensorsDtype::kU32}, 2); !checked)
      return Forward(checked);
  }
  GroupwiseInts out;
  out.format_ = format;
  const auto in_word = static_cast<int64_t>(32 / format.bits);
  const auto rows = static_cast<int64_t>(tensors.qweight->shape[0]);
  const auto cols = static_cast<int64_t>(tensors.qweight->shape[1]);
  if (std::max(rows, cols) > kMaxTensorDimension) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' is [{}, {}]; at most {} is read", tensors.qweight->name, rows, cols,
                kMaxTensorDimension);
  }
  out.inputs_ = format.packing == Packing::kGptq ? rows * in_word : rows;
  out.outputs_ = format.packing == Packing::kGptq ? cols : cols * in_word;
  const int64_t group_size = format.group_size == -1 ? out.inputs_ : format.group_size;
  out.groups_ = (out.inputs_ + group_size - 1) / group_size;
  const auto groups = static_cast<uint64_t>(out.groups_), outputs = static_cast<uint64_t>(out.outputs_);
  const auto zero_words = (outputs + static_cast<uint64_t>(in_word) - 1) / static_cast<uint64_t>(in_word);
  if (auto checked = CheckShape(*tensors.qzeros, {groups, zero_words}, *tensors.qweight); !checked)
    return Forward(checked);
  if (auto checked = CheckShape(*tensors.scales, {groups, outputs}, *tensors.qweight); !checked)
    return Forward(checked);
  if (tensors.group_of != nullptr) {
    const auto inputs = static_cast<uint64_t>(out.inputs_);
    if (auto checked = CheckShape(*tensors.group_of, {inputs}, *tensors.qweight); !checked) return Forward(checked);
  }
  out.numbers_ = awq ? Numbers::kAwq : Numbers::kGptq;
  out.qweight_ = tensors.qweight->data.data();
  out.qzeros_ = tensors.qzeros->data.data();
  out.zeros_ = Zeros::kOfGroups;
  out.scale_steps_ = {.group = out.outputs_, .output = 1};
  if (auto read = out.ReadGroups(tensors.group_of, group_size); !read) return Forward(read);
  out.scales_ = tensors.scales;
  if (auto chosen = out.ChooseType(group_size); !chosen) return Forward(chosen);
  return out;
}

Status GroupwiseInts::ReadGroups(const SafetensorsTensor* group_of, int64_t group_size) {
  group_of_.resize(static_cast<size_t>(inputs_));
  for (int64_t i = 0; i < inputs_; ++i) group_of_[static_cast<size_t>(i)] = static_cast<int32_t>(i / group_size);
  if (group_of == nullptr) return {};
  if (auto checked = CheckKind(*group_of, {SafetensorsDtype::kI32}, 1); !checked) return checked;
  for (int64_t i = 0; i < inputs_; ++i) {
    const auto group = static_cast<int32_t>(WordAt(group_of->data.data(), i));
    if (group < 0 || group >= groups_) {
      return Fail(ErrorCode::kDataLoss, "tensor '{}': input {} is of group {}, but there are {} groups", group_of->name,
                  i, group, groups_);
    }
    group_of_[static_cast<size_t>(i)] = group;
  }
  return {};
}

Status GroupwiseInts::ChooseType(int64_t group_size) {
  const auto scales = ReadScaleTensor(*scales_);
  if (!scales) return Forward(scales);
  if (inputs_ % kSmallBlock != 0 || group_size % kSmallBlock != 0 || !PackGroupsInOrder(group_size)) return {};
  const auto integers = IntegerType();
  if (!integers || !ScalesAreHalves(*scales, group_size)) {
    order_.clear();
  } else if (order_.empty()) {
    type_ = *integers;
  } else {
    ordered_type_ = *integers;
  }
  return {};
}

// False if a group has fewer inputs than the others: blocks could not match it.
bool GroupwiseInts::PackGroupsInOrder(int64_t group_size) {
  const auto group_of = [&](int32_t input) { return group_of_[static_cast<size_t>(input)]; };
  std::vector<int32_t> order(group_of_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, group_of);
  for (int64_t i = 0; i < inputs_; ++i) {
    if (group_of(order[static_cast<size_t>(i)]) != i / group_size) return false;
  }
  if (!std::ranges::is_sorted(group_of_)) order_ = std::move(order);
  return true;
}

// The smallest type that holds q - zero.
std::optional<TensorType> GroupwiseInts::IntegerType() const {
  int32_t lowest = Zero(0, 0), highest = lowest;
  for (int64_t g = 0; g < groups_; ++g) {
    for (int64_t o = 0; o < outputs_; ++o) {
      lowest = std::min(lowest, Zero(g, o));
      highest = std::max(highest, Zero(g, o));
    }
  }
  const int32_t most = (1 << format_.bits) - 1 - lowest;  // of q - zero; the least is -highest
  if (highest <= 8 && most <= 7) return TensorType::kQ4_0;
  if (highest <= 128 && most <= 127) return TensorType::kQ8_0;
  return std::nullopt;
}

// Except for groups whose numbers are all zero.
bool GroupwiseInts::ScalesAreHalves(const std::vector<float>& scales, int64_t group_size) const {
  for (int64_t g = 0; g < groups_; ++g) {
    for (int64_t o = 0; o < outputs_; ++o) {
      if (!IsHalf(scales[scale_steps_.At(g, o)]) && !AllZero(g, group_size, o)) return false;
    }
  }
  return true;
}

std::optional<ActOrderLayout> GroupwiseInts::layout() const {
  if (order_.empty()) return std::nullopt;
  return ActOrderLayout{.type = ordered_type_, .order = order_, .data = {}};
}

ActOrderLayout GroupwiseInts::ReadLayout() const {
  const auto data = std::make_shared<const std::vector<std::byte>>(ReadAs(ordered_type_));
  return {.type = ordered_type_, .order = order_, .data = *data, .owner = data};
}

void GroupwiseInts::UnpackRun(int64_t first, int64_t count, int64_t output, Run& out) const {
  const uint32_t bits = format_.bits, mask = (1u << bits) - 1;
  if (numbers_ == Numbers::kBytes) {
    const std::byte* bytes = qweight_ + output * inputs_ + first;
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(bytes[i]) ^ 128;  // as in the others: 128 more
    return;
  }
  if (numbers_ == Numbers::kAwq) {
    const int64_t row = outputs_ / 8, word = first * row + output / 8;
    const uint32_t shift = bits * static_cast<uint32_t>(kAwqPlace[output % 8]);
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(WordAt(qweight_, word + i * row) >> shift & mask);
    return;
  }
  const int64_t in_word = 32 / bits;
  const bool rows = numbers_ == Numbers::kRows;
  const int64_t row_words = (inputs_ + in_word - 1) / in_word, step = rows ? 1 : outputs_;
  int64_t word = first / in_word * step + (rows ? output * row_words : output);
  for (int64_t i = 0; i < count; i += in_word, word += step) {
    uint32_t rest = WordAt(qweight_, word);
    for (int64_t j = 0; j < in_word; ++j, rest >>= bits) out[i + j] = static_cast<uint8_t>(rest & mask);
  }
}

void GroupwiseInts::UnpackInOrder(int64_t first, int64_t output, Run& out) const {
  if (order_.empty()) return UnpackRun(first, kRun, output, out);
  const int64_t in_word = 32 / format_.bits;
  for (int64_t i = 0; i < kRun; ++i) {
    const int64_t input = order_[static_cast<size_t>(first + i)];
    Run run;
    UnpackRun(input / in_word * in_word, in_word, output, run);
    out[i] = run[input % in_word];
  }
}

int32_t GroupwiseInts::Zero(int64_t group, int64_t output) const {
  const int64_t in_word = 32 / format_.bits;
  const int32_t middle = 1 << (format_.bits - 1);
  switch (zeros_) {
    case Zeros::kMiddle:
      return middle;
    case Zeros::kBytes:
      return middle + static_cast<int8_t>(qzeros_[zero_steps_.At(group, output)]);
    case Zeros::kOfOutputs: {
      const uint32_t word = WordAt(qzeros_, output / in_word * groups_ + group);
      return static_cast<int32_t>(word >> (format_.bits * (output % in_word)) & ((1u << format_.bits) - 1));
    }
    case Zeros::kOfGroups:
      break;
  }
  const int64_t row_words = (outputs_ + in_word - 1) / in_word;
  return static_cast<int32_t>(Unpack(qzeros_, group * row_words, output, format_) + format_.zero_bias);
}

// For groups that consist of complete runs.
bool GroupwiseInts::AllZero(int64_t group, int64_t group_size, int64_t output) const {
  const int32_t zero = Zero(group, output);
  const int64_t end = std::min(inputs_, (group + 1) * group_size);
  for (int64_t first = group * group_size; first < end; first += kRun) {
    Run q;
    UnpackInOrder(first, output, q);
    if (!std::all_of(q, q + kRun, [zero](uint8_t value) { return value == zero; })) return false;
  }
  return true;
}

template <class F>
void GroupwiseInts::ForEachRun(const F& f) const {
  const bool by_output = numbers_ == Numbers::kRows || numbers_ == Numbers::kBytes;
  const int64_t runs = (inputs_ + kRun - 1) / kRun;
  for (int64_t i = 0; i < runs * outputs_; ++i) {
    if (by_output) {
      f(i % runs * kRun, i / runs);
    } else {
      f(i / outputs_ * kRun, i % outputs_);
    }
  }
}

template <class Block>
void GroupwiseInts::ReadBlocks(const std::vector<float>& scales, std::byte* out) const {
  static_assert(kRun == kSmallBlock);
  auto* blocks = reinterpret_cast<Block*>(out);
  const int64_t row_blocks = inputs_ / kRun;
  ForEachRun([&](int64_t first, int64_t o) {
    const auto place = static_cast<size_t>(first);
    const int32_t group = group_of_[order_.empty() ? place : static_cast<size_t>(order_[place])];
    Run q;
    UnpackInOrder(first, o, q);
    Block& block = blocks[o * row_blocks + first / kRun];
    const float scale = scales[scale_steps_.At(group, o)];
    block.d = ToFp16(IsHalf(scale) ? scale : 0.0f);  // otherwise all numbers are zero, as ChooseType found
    Fill(block, q, Zero(group, o));
  });
}

void GroupwiseInts::ReadFloats(const std::vector<float>& scales, float* out) const {
  std::vector<int32_t> zeros(static_cast<size_t>(groups_ * outputs_));
  for (int64_t g = 0; g < groups_; ++g) {
    for (int64_t o = 0; o < outputs_; ++o) zeros[static_cast<size_t>(g * outputs_ + o)] = Zero(g, o);
  }
  ForEachRun([&](int64_t first, int64_t o) {
    const int64_t count = std::min<int64_t>(kRun, inputs_ - first);
    Run q;
    UnpackRun(first, count, o, q);
    for (int64_t i = 0; i < count; ++i) {
      const int32_t group = group_of_[static_cast<size_t>(first + i)];
      const int32_t zero = zeros[static_cast<size_t>(group * outputs_ + o)];
      out[o * inputs_ + first + i] = scales[scale_steps_.At(group, o)] * static_cast<float>(q[i] - zero);
    }
  });
}

std::vector<std::byte> GroupwiseInts::Read() const { return ReadAs(type_); }

std::vector<std::byte> GroupwiseInts::ReadAs(TensorType type) const {
  std::vector<std::byte> out(*TensorBytes(type, std::to_array({uint64_t(inputs_), uint64_t(outputs_)})));
  const std::vector<float> scales = *ReadScaleTensor(*scales_);  // as Open found them
  if (type == TensorType::kQ4_0) {
    ReadBlocks<BlockQ4_0>(scales, out.data());
  } else if (type == TensorType::kQ8_0) {
    ReadBlocks<BlockQ8_0>(scales, out.data());
  } else {
    ReadFloats(scales, reinterpret_cast<float*>(out.data()));
  }
  return out;
}

}  // namespace inferflux::formats
