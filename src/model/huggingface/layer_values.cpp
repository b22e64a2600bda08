#include "model/huggingface/layer_values.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "formats/safetensors/safetensors_dtype.h"

namespace inferflux::model {
namespace {

const formats::SafetensorsTensor* FindUnprefixed(const Checkpoint& checkpoint, const std::string& name,
                                                 const formats::SafetensorsModel& model) {
  for (const std::string_view prefix : checkpoint.prefixes) {
    if (const auto* found = model.FindTensor(std::string(prefix) + name)) return found;
  }
  return model.FindTensor(name);
}

Result<float> ReadOne(const formats::HfConfig& config, const Checkpoint& checkpoint, const std::string& name,
                      const formats::SafetensorsModel& model) {
  const formats::SafetensorsTensor* tensor = FindUnprefixed(checkpoint, name, model);
  if (tensor == nullptr) {
    return Fail(ErrorCode::kNotFound, "{}: tensor '{}' is missing; fetch the checkpoint anew", config.raw.source(),
                name);
  }
  const auto type = Traits(tensor->dtype).type;
  if (!type || tensor->elements() != 1) {
    return Fail(ErrorCode::kDataLoss, "{}: tensor '{}' holds {} values of {}, and should be one of a plain type",
                config.raw.source(), tensor->name, tensor->elements(), Traits(tensor->dtype).name);
  }
  float value = 0.0f;
  formats::ToFloats(tensor->dtype, tensor->data.data(), &value, 1);
  return value;
}

}  // namespace

bool IsLayerValue(const Checkpoint& checkpoint, std::string_view pattern) {
  return std::ranges::any_of(checkpoint.layer_values,
                             [&](const LayerValue& value) { return value.checkpoint == pattern; });
}

Status WriteLayerValues(const formats::HfConfig& config, const HfFamily& family, const formats::SafetensorsModel& model,
                        formats::GgufMetadataBuilder& metadata) {
  for (const LayerValue& value : family.checkpoint.layer_values) {
    const size_t star = value.checkpoint.find('*');
    std::vector<float> values;
    for (uint32_t i = 0; i < config.layers; ++i) {
      const std::string name = std::string(value.checkpoint.substr(0, star)) + std::to_string(i) +
                               std::string(value.checkpoint.substr(star + 1));
      const auto one = ReadOne(config, family.checkpoint, name, model);
      if (!one) return Forward(one);
      values.push_back(*one);
    }
    metadata.SetArray(value.gguf, std::span<const float>(values));
  }
  return {};
}

}  // namespace inferflux::model
