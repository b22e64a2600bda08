// What the package compressed-tensors writes.
#include "model/huggingface/weight_collector.h"

namespace inferflux::model {

using formats::SafetensorsDtype;
using formats::SafetensorsTensor;

// A tensor of integers that has scales beside it.
bool WeightCollector::IsInt8(const SafetensorsTensor& tensor) const {
  if (tensor.dtype != SafetensorsDtype::kI8 || !tensor.name.ends_with(kWeight)) return false;
  const bool compressed = config_.quantization && config_.quantization->method == "compressed-tensors";
  return compressed || model_.FindTensor(tensor.name + "_scale") != nullptr;
}

Status WeightCollector::AddPacked(const SafetensorsTensor& packed) {
  const std::string base = packed.name.substr(0, packed.name.size() - kWeightPacked.size());
  const SafetensorsTensor* shape = Take(base, ".weight_shape");
  if (shape == nullptr) return Lacks(packed, base, ".weight_shape");
  return AddCompressedInts(packed, base, shape);
}

Status WeightCollector::AddInt8(const SafetensorsTensor& weight) {
  return AddCompressedInts(weight, weight.name.substr(0, weight.name.size() - kWeight.size()), nullptr);
}

Status WeightCollector::AddCompressedInts(const SafetensorsTensor& weight, const std::string& base,
                                          const SafetensorsTensor* shape) {
  const formats::CompressedIntsTensors tensors{.weight = &weight,
                                               .scales = Take(base, ".weight_scale"),
                                               .shape = shape,
                                               .zeros = Take(base, ".weight_zero_point"),
                                               .group_of = Take(base, ".weight_g_idx")};
  if (tensors.scales == nullptr) return Lacks(weight, base, ".weight_scale");
  std::vector<uint32_t> bits;
  if (config_.quantization) {
    for (const formats::HfQuantGroup& group : config_.quantization->groups) {
      if (group.type == "int") bits.push_back(group.bits);
    }
  }
  auto ints = formats::GroupedInts::OpenCompressed(tensors, bits);
  if (!ints) return Forward(ints);
  uint64_t bytes = weight.data.size() + tensors.scales->data.size();
  if (tensors.zeros != nullptr) bytes += tensors.zeros->data.size();
  Add(weight, base + ".weight", std::move(*ints), bytes);
  return {};
}

}  // namespace inferflux::model
