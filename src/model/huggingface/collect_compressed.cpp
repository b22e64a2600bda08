// The tensors of the package compressed-tensors and of NVIDIA's ModelOpt.
#include "model/huggingface/weight_collector.h"

namespace inferflux::model {

using formats::SafetensorsDtype;
using formats::SafetensorsTensor;

// A tensor of integers with a tensor of scales.
bool WeightCollector::IsInt8(const SafetensorsTensor& tensor) const {
  if (tensor.dtype != SafetensorsDtype::kI8 || !tensor.name.ends_with(kWeight)) return false;
  const bool compressed = config_.quantization && config_.quantization->method == "compressed-tensors";
  return compressed || model_.FindTensor(tensor.name + "_scale") != nullptr;
}

Status WeightCollector::AddPacked(const SafetensorsTensor& packed) {
  const std::string base = packed.name.substr(0, packed.name.size() - kWeightPacked.size());
  if (packed.dtype == SafetensorsDtype::kU8) {  // 4-bit floats: the type of their scales tells the format
    const SafetensorsTensor* scales = model_.FindTensor(base + ".weight_scale");
    if (scales != nullptr && scales->dtype == SafetensorsDtype::kU8) return AddMxfp4Matrix(packed, base);
    const SafetensorsTensor* tensor_scale = Take(base, ".weight_global_scale");
    if (tensor_scale == nullptr) return Lacks(packed, base, ".weight_global_scale");
    return AddNvfp4(packed, base, *tensor_scale, formats::Nvfp4::ScaleUse::kDivides);
  }
  const SafetensorsTensor* shape = Take(base, ".weight_shape");
  if (shape == nullptr) return Lacks(packed, base, ".weight_shape");
  return AddCompressedTensors(packed, base, shape);
}

Status WeightCollector::AddInt8(const SafetensorsTensor& weight) {
  return AddCompressedTensors(weight, weight.name.substr(0, weight.name.size() - kWeight.size()), nullptr);
}

Status WeightCollector::AddCompressedTensors(const SafetensorsTensor& weight, const std::string& base,
                                             const SafetensorsTensor* shape) {
  const formats::CompressedTensorsInts tensors{.weight = &weight,
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
  auto ints = formats::GroupwiseInts::OpenCompressed(tensors, bits);
  if (!ints) return Forward(ints);
  uint64_t bytes = weight.data.size() + tensors.scales->data.size();
  if (tensors.zeros != nullptr) bytes += tensors.zeros->data.size();
  Add(weight, base + ".weight", std::move(*ints), bytes);
  return {};
}

Status WeightCollector::AddMxfp4Matrix(const SafetensorsTensor& packed, const std::string& base) {
  const SafetensorsTensor& scales = *Take(base, ".weight_scale");
  auto blocks = formats::Mxfp4Expert::OpenMatrix(packed, scales);
  if (!blocks) return Forward(blocks);
  Add(packed, base + ".weight", std::move(*blocks), packed.data.size() + scales.data.size());
  return {};
}

// ModelOpt's, which names the packed tensor like an unpacked one.
bool WeightCollector::IsModelOptNvfp4(const SafetensorsTensor& tensor) const {
  return tensor.dtype == SafetensorsDtype::kU8 && tensor.name.ends_with(kWeight) &&
         model_.FindTensor(tensor.name + "_scale_2") != nullptr;
}

Status WeightCollector::AddModelOptNvfp4(const SafetensorsTensor& weight) {
  const std::string base = weight.name.substr(0, weight.name.size() - kWeight.size());
  return AddNvfp4(weight, base, *Take(base, ".weight_scale_2"), formats::Nvfp4::ScaleUse::kMultiplies);
}

Status WeightCollector::AddNvfp4(const SafetensorsTensor& packed, const std::string& base,
                                 const SafetensorsTensor& tensor_scale, formats::Nvfp4::ScaleUse how) {
  const SafetensorsTensor* scales = Take(base, ".weight_scale");
  if (scales == nullptr) return Lacks(packed, base, ".weight_scale");
  auto nvfp4 = formats::Nvfp4::Open(packed, *scales, tensor_scale, how);
  if (!nvfp4) return Forward(nvfp4);
  const bool apart = nvfp4->type() == formats::TensorType::kNvfp4;
  const formats::TensorScale of_all{nvfp4->tensor_scale()};
  Add(packed, base + ".weight", std::move(*nvfp4), packed.data.size() + scales->data.size());
  if (apart) made_[&packed].push_back(std::make_shared<const StoredWeight>(base + ".scale", of_all));
  return {};
}

}  // namespace inferflux::model
