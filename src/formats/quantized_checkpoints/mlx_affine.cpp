#include "formats/quantized_checkpoints/mlx_affine.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/half.h"
#include "formats/quant/blocks.h"
#include "formats/quant/dequantize.h"
#include "formats/quantized_checkpoints/stacked_experts.h"
#include "formats/quantized_checkpoints/tensor_checks.h"

namespace inferflux::formats {
namespace {

// The numbers of a row, one after the other.
class BitString {
 public:
  BitString(const std::byte* words, int bits) : next_(words), bits_(bits) {}
  uint8_t Take() {
    while (count_ < bits_) {
      held_ |= uint32_t{static_cast<uint8_t>(*next_++)} << count_;
      count_ += 8;
    }
    const auto value = static_cast<uint8_t>(held_ & ((1u << bits_) - 1));
    held_ >>= bits_;
    count_ -= bits_;
    return value;
  }

 private:
  const std::byte* next_;
  int bits_;
  uint32_t held_ = 0;
  int count_ = 0;
};

void SetFifthBits(BlockQ4_1&, const uint8_t (&)[kSmallBlock]) {}
void SetFifthBits(BlockQ5_1& block, const uint8_t (&q)[kSmallBlock]) {
  uint32_t bits = 0;
  for (int i = 0; i < kSmallBlock; ++i) bits |= uint32_t{q[i] >> 4u & 1u} << i;
  std::memcpy(block.qh, &bits, sizeof bits);
}

std::vector<float> Floats(const AffineLayout& layout, std::span<const std::byte> data) {
  const size_t bytes = Traits(layout.scale_type).block_bytes;
  std::vector<std::byte> aligned(data.begin(), data.end());
  std::vector<float> out(data.size() / bytes);
  DequantizeRow(layout.scale_type, aligned.data(), out.data(), static_cast<int64_t>(out.size()));
  return out;
}

// Calls f(row, first input, count, scale, bias, bits) for each run of `run` inputs, row by row. `run` divides the
// groups.
template <class F>
void ForEachRun(const AffineLayout& layout, int64_t outputs, int64_t inputs, int64_t run, const F& f) {
  const std::vector<float> scales = Floats(layout, layout.scales), biases = Floats(layout, layout.biases);
  const int64_t groups = inputs / layout.group;
  const size_t row_bytes = layout.words.size() / static_cast<size_t>(outputs);
  for (int64_t o = 0; o < outputs; ++o) {
    BitString bits(layout.words.data() + static_cast<size_t>(o) * row_bytes, layout.bits);
    for (int64_t first = 0; first < inputs; first += run) {
      const auto group = static_cast<size_t>(o * groups + first / layout.group);
      f(o * inputs + first, scales[group], biases[group], bits);
    }
  }
}

template <class Block>
void ReadBlocks(const AffineLayout& layout, int64_t outputs, int64_t inputs, std::byte* out) {
  auto* blocks = reinterpret_cast<Block*>(out);
  ForEachRun(layout, outputs, inputs, kSmallBlock, [&](int64_t at, float scale, float bias, BitString& bits) {
    uint8_t q[kSmallBlock];
    for (uint8_t& value : q) value = bits.Take();
    Block& block = blocks[at / kSmallBlock];
    block.d = ToFp16(scale);
    block.m = ToFp16(bias);
    for (int i = 0; i < 16; ++i) block.qs[i] = static_cast<uint8_t>((q[i] & 15) | (q[i + 16] & 15) << 4);
    SetFifthBits(block, q);
  });
}

}  // namespace

Result<MlxAffineWeights> MlxAffineWeights::Open(const SafetensorsTensor& weight, const SafetensorsTensor& scales,
                                                const SafetensorsTensor& biases, int64_t group_size) {
  if (auto checked = CheckKind(weight, {SafetensorsDtype::kU32}, 2); !checked) return Forward(checked);
  using enum SafetensorsDtype;
  if (auto checked = CheckKind(scales, {kF16, kBf16, kF32}, 2); !checked) return Forward(checked);
  if (auto checked = CheckKind(biases, {scales.dtype}, 2); !checked) return Forward(checked);
  if (group_size != 32 && group_size != 64 && group_size != 128) {
    return Fail(ErrorCode::kUnsupported,
                "tensor '{}': groups of {} inputs are not supported; supported are 32, 64 and 128", weight.name,
                group_size);
  }
  const uint64_t outputs = weight.shape[0], words = weight.shape[1], groups = scales.shape[1];
  constexpr auto kMost = static_cast<uint64_t>(kMaxTensorDimension);
  if (outputs > kMost || words > kMost || groups > kMost / static_cast<uint64_t>(group_size)) {
    return Fail(ErrorCode::kDataLoss,
                "tensor '{}' is [{}, {}], and its scales [{}, {}]; dimensions of at most {} are read", weight.name,
                outputs, words, scales.shape[0], groups, kMost);
  }
  if (auto checked = CheckShape(scales, {outputs, groups}, weight); !checked) return Forward(checked);
  if (auto checked = CheckShape(biases, {outputs, groups}, weight); !checked) return Forward(checked);
  MlxAffineWeights out;
  out.outputs_ = static_cast<int64_t>(outputs);
  out.inputs_ = static_cast<int64_t>(groups) * group_size;
  const uint64_t bits = words * 32 / static_cast<uint64_t>(out.inputs_);
  constexpr std::array<uint64_t, 6> kBits = {2, 3, 4, 5, 6, 8};
  if (bits * static_cast<uint64_t>(out.inputs_) != words * 32 || std::ranges::find(kBits, bits) == kBits.end()) {
    return Fail(ErrorCode::kUnsupported,
                "tensor '{}' has {} words for {} inputs in groups of {}: they must have 2, 3, 4, 5, 6 or 8 bits each",
                weight.name, words, out.inputs_, group_size);
  }
  out.layout_ = {.bits = static_cast<int32_t>(bits),
                 .group = static_cast<int32_t>(group_size),
                 .scale_type = *Traits(scales.dtype).type,
                 .words = weight.data,
                 .scales = scales.data,
                 .biases = biases.data};
  bool half = bits <= 5;
  for (const SafetensorsTensor* tensor : {&scales, &biases}) {
    const auto values = ReadScaleTensor(*tensor);
    if (!values) return Forward(values);
    half = half && std::ranges::all_of(*values, [](float value) { return ToFloat(ToFp16(value)) == value; });
  }
  if (half) out.type_ = bits == 5 ? TensorType::kQ5_1 : TensorType::kQ4_1;
  return out;
}

Result<MlxAffineWeights> MlxAffineWeights::OpenExpert(const SafetensorsTensor& weights, const SafetensorsTensor& scales,
                                                      const SafetensorsTensor& biases, int64_t group_size,
                                                      uint64_t expert) {
  const auto own_weight = SliceExpert(weights, expert), own_scales = SliceExpert(scales, expert),
             own_biases = SliceExpert(biases, expert);
  for (const auto* own : {&own_weight, &own_scales, &own_biases}) {
    if (!*own) return Forward(*own);
  }
  // As a whole, so that an error shows what the file contains.
  if (auto checked = CheckShape(scales, {weights.shape[0], weights.shape[1], scales.shape[2]}, weights); !checked)
    return Forward(checked);
  if (auto checked = CheckShape(biases, {weights.shape[0], weights.shape[1], scales.shape[2]}, weights); !checked)
    return Forward(checked);
  return Open(*own_weight, *own_scales, *own_biases, group_size);
}

std::vector<std::byte> MlxAffineWeights::Read() const {
  std::vector<std::byte> out(*TensorBytes(type_, std::to_array({uint64_t(inputs_), uint64_t(outputs_)})));
  if (type_ == TensorType::kQ4_1) {
    ReadBlocks<BlockQ4_1>(layout_, outputs_, inputs_, out.data());
  } else if (type_ == TensorType::kQ5_1) {
    ReadBlocks<BlockQ5_1>(layout_, outputs_, inputs_, out.data());
  } else {
    auto* values = reinterpret_cast<float*>(out.data());
    ForEachRun(layout_, outputs_, inputs_, layout_.group, [&](int64_t at, float scale, float bias, BitString& bits) {
      for (int32_t i = 0; i < layout_.group; ++i) values[at + i] = scale * static_cast<float>(bits.Take()) + bias;
    });
  }
  return out;
}

}  // namespace inferflux::formats
