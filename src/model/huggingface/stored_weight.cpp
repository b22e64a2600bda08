#include "model/huggingface/stored_weight.h"

#include <utility>

namespace inferflux::model {

StoredWeight::StoredWeight(std::string name, const formats::SafetensorsTensor& tensor)
    : name_(std::move(name)),
      shape_(tensor.shape),
      type_(Traits(tensor.dtype).type.value_or(formats::TensorType::kF32)),
      stored_bytes_(tensor.data.size()),
      data_(&tensor) {}

StoredWeight::StoredWeight(std::string name, formats::GroupedInts ints, uint64_t stored_bytes)
    : name_(std::move(name)),
      shape_{static_cast<uint64_t>(ints.outputs()), static_cast<uint64_t>(ints.inputs())},
      type_(ints.type()),
      stored_bytes_(stored_bytes),
      data_(std::move(ints)) {}

StoredWeight::StoredWeight(std::string name, formats::ScaledFp8 fp8, uint64_t stored_bytes)
    : name_(std::move(name)),
      shape_{static_cast<uint64_t>(fp8.outputs()), static_cast<uint64_t>(fp8.inputs())},
      type_(fp8.type()),
      stored_bytes_(stored_bytes),
      data_(std::move(fp8)) {}

std::span<const std::byte> StoredWeight::mapped() const {
  const auto* tensor = std::get_if<const formats::SafetensorsTensor*>(&data_);
  return tensor != nullptr ? (*tensor)->data : std::span<const std::byte>();
}

std::vector<std::byte> StoredWeight::Read() const {
  if (const auto* ints = std::get_if<formats::GroupedInts>(&data_)) return ints->Read();
  if (const auto* fp8 = std::get_if<formats::ScaledFp8>(&data_)) return fp8->Read();
  const auto bytes = mapped();
  return {bytes.begin(), bytes.end()};
}

}  // namespace inferflux::model
