#include "model/huggingface/stored_weight.h"

#include <utility>

namespace inferflux::model {

StoredWeight::StoredWeight(std::string name, const formats::SafetensorsTensor& tensor, std::optional<uint32_t> expert)
    : name_(std::move(name)),
      shape_(tensor.shape),
      type_(Traits(tensor.dtype).type.value_or(formats::TensorType::kF32)),
      stored_bytes_(tensor.data.size()),
      expert_(expert),
      data_(tensor.data) {}

StoredWeight::StoredWeight(std::string name, formats::TensorScale tensor_scale)
    : name_(std::move(name)), shape_{1}, stored_bytes_(sizeof tensor_scale.value), data_(tensor_scale) {}

std::span<const std::byte> StoredWeight::mapped() const {
  const auto* data = std::get_if<std::span<const std::byte>>(&data_);
  return data != nullptr ? *data : std::span<const std::byte>();
}

std::optional<formats::WeightLayout> StoredWeight::layout() const {
  return std::visit(
      [](const auto& packed) -> std::optional<formats::WeightLayout> {
        if constexpr (requires { packed.layout(); }) return packed.layout();
        return std::nullopt;
      },
      data_);
}

formats::WeightLayout StoredWeight::ReadLayout(const formats::WeightLayout& layout) const {
  const auto* ints = std::get_if<formats::GroupwiseInts>(&data_);
  return ints == nullptr ? layout : formats::WeightLayout(ints->ReadLayout());
}

std::vector<std::byte> StoredWeight::Read() const {
  if (const auto bytes = mapped(); !bytes.empty()) return {bytes.begin(), bytes.end()};
  return std::visit(
      [](const auto& packed) -> std::vector<std::byte> {
        if constexpr (requires { packed.Read(); }) return packed.Read();
        return {};  // a tensor without elements
      },
      data_);
}

}  // namespace inferflux::model
