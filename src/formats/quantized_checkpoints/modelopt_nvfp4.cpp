#include "formats/quantized_checkpoints/modelopt_nvfp4.h"

#include <cmath>
#include <cstring>
#include <span>

#include "formats/quant/blocks.h"
#include "formats/quant/small_floats.h"
#include "formats/quantized_checkpoints/tensor_checks.h"

namespace inferflux::formats {
namespace {

constexpr int64_t kGroup = 16;  // inputs with one scale
constexpr int64_t kBlock = 64;  // inputs of GGUF's block
constexpr uint8_t kE4m3Nan = 127;

Result<float> ReadTensorScale(const SafetensorsTensor& tensor_scale, Nvfp4::ScaleUse how) {
  if (tensor_scale.elements() != 1) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' has {} values, but a per-tensor scale has one", tensor_scale.name,
                tensor_scale.elements());
  }
  const auto read = ReadScaleTensor(tensor_scale);
  if (!read) return Forward(read);
  const float value = how == Nvfp4::ScaleUse::kDivides ? 1.0f / read->front() : read->front();
  if (std::isfinite(value) && value >= 0.0f) return value;
  return Fail(ErrorCode::kDataLoss, "tensor '{}' holds {}, which gives no finite, positive per-tensor scale",
              tensor_scale.name, read->front());
}

Status CheckScales(const SafetensorsTensor& scales) {
  for (size_t i = 0; i < scales.data.size(); ++i) {
    if (static_cast<uint8_t>(scales.data[i]) < kE4m3Nan) continue;
    return Fail(ErrorCode::kDataLoss, "tensor '{}': scale {} is negative or NaN", scales.name, i);
  }
  return {};
}

uint8_t NumberAt(const std::byte* packed, int64_t index) {
  return static_cast<uint8_t>(packed[index / 2]) >> (index % 2 * 4) & 15;
}

}  // namespace

Result<Nvfp4> Nvfp4::Open(const SafetensorsTensor& packed, const SafetensorsTensor& scales,
                          const SafetensorsTensor& tensor_scale, ScaleUse how) {
  if (auto checked = CheckKind(packed, {SafetensorsDtype::kU8}, 2); !checked) return Forward(checked);
  if (auto checked = CheckKind(scales, {SafetensorsDtype::kF8E4m3}, 2); !checked) return Forward(checked);
  const uint64_t outputs = packed.shape[0], bytes = packed.shape[1];
  constexpr auto kMost = static_cast<uint64_t>(kMaxTensorDimension);
  if (outputs > kMost || bytes > kMost / 2 || bytes % (kGroup / 2) != 0) {
    return Fail(ErrorCode::kDataLoss,
                "tensor '{}' is [{}, {}]; groups of 8 bytes are read, and dimensions of at most {}", packed.name,
                outputs, bytes, kMaxTensorDimension);
  }
  if (auto checked = CheckShape(scales, {outputs, bytes / (kGroup / 2)}, packed); !checked) return Forward(checked);
  if (auto checked = CheckScales(scales); !checked) return Forward(checked);
  const auto value = ReadTensorScale(tensor_scale, how);
  if (!value) return Forward(value);
  Nvfp4 out;
  out.packed_ = packed.data.data();
  out.scales_ = scales.data.data();
  out.tensor_scale_ = *value;
  out.outputs_ = static_cast<int64_t>(outputs);
  out.inputs_ = static_cast<int64_t>(bytes) * 2;
  return out;
}

TensorType Nvfp4::type() const { return inputs_ % kBlock == 0 ? TensorType::kNvfp4 : TensorType::kF32; }

std::vector<std::byte> Nvfp4::Read() const {
  const int64_t values = outputs_ * inputs_;
  if (type() == TensorType::kF32) {
    std::vector<float> floats(static_cast<size_t>(values));
    for (int64_t i = 0; i < values; ++i) {
      const float exact = HalfOfUe4m3(static_cast<uint8_t>(scales_[i / kGroup])) *
                          static_cast<float>(kFp4Doubled[NumberAt(packed_, i)]);
      floats[static_cast<size_t>(i)] = exact * tensor_scale_;
    }
    const auto bytes = std::as_bytes(std::span(floats));
    return {bytes.begin(), bytes.end()};
  }
  std::vector<std::byte> out(static_cast<size_t>(values / kBlock) * sizeof(BlockNvfp4));
  auto* block = reinterpret_cast<BlockNvfp4*>(out.data());
  for (int64_t first = 0; first < values; first += kBlock, ++block) {
    std::memcpy(block->scales, scales_ + first / kGroup, sizeof block->scales);
    for (int i = 0; i < 32; ++i) {  // of a group, input i % 8 below input i % 8 + 8
      const int64_t at = first + i / 8 * kGroup + i % 8;
      block->qs[i] = static_cast<uint8_t>(NumberAt(packed_, at) | NumberAt(packed_, at + 8) << 4);
    }
  }
  return out;
}

std::vector<std::byte> TensorScale::Read() const {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace inferflux::formats
