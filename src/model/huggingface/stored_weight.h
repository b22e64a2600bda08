// One weight of a checkpoint: a tensor of its own, or the several that a quantised one is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "formats/quantized_checkpoints/fp8.h"
#include "formats/quantized_checkpoints/fused_experts.h"
#include "formats/quantized_checkpoints/gptq_awq.h"
#include "formats/quantized_checkpoints/mlx_affine.h"
#include "formats/quantized_checkpoints/modelopt_nvfp4.h"
#include "formats/safetensors/safetensors_model.h"
#include "formats/tensor_type.h"
#include "formats/weight_layout/weight_layout.h"

namespace inferflux::model {

class StoredWeight {
 public:
  // `name`: what the weight would be called were it not quantised, "model.layers.0.mlp.up_proj.weight".
  StoredWeight(std::string name, const formats::SafetensorsTensor& tensor, std::optional<uint32_t> expert = {});
  // One that is made of `packed`, a reader of formats/checkpoint.
  template <class Packed>
  requires requires(const Packed& packed) { packed.Read(); }
  StoredWeight(std::string name, Packed packed, uint64_t stored_bytes, std::optional<uint32_t> expert = {})
      : name_(std::move(name)),
        shape_{static_cast<uint64_t>(packed.outputs()), static_cast<uint64_t>(packed.inputs())},
        type_(packed.type()),
        stored_bytes_(stored_bytes),
        expert_(expert),
        data_(std::move(packed)) {}

  // One value, [1] of F32, that goes with a weight.
  StoredWeight(std::string name, formats::TensorScale factor);

  const std::string& name() const { return name_; }
  const std::vector<uint64_t>& shape() const { return shape_; }  // slowest-varying first: {outputs, inputs}
  formats::TensorType type() const { return type_; }
  uint64_t stored_bytes() const { return stored_bytes_; }
  // Whose weight of a stack it is, where name() is that of the stack.
  std::optional<uint32_t> expert() const { return expert_; }

  // The values in type() where the checkpoint has them so, unaligned; empty where they must be made by Read.
  std::span<const std::byte> mapped() const;
  std::vector<std::byte> Read() const;
  // As the checkpoint has it, where that is a form that GGUF has not.
  std::optional<formats::WeightLayout> form() const;
  // What form() told, with the numbers, which it leaves out where they must be made.
  formats::WeightLayout ReadForm(const formats::WeightLayout& form) const;

 private:
  std::string name_;
  std::vector<uint64_t> shape_;
  formats::TensorType type_ = formats::TensorType::kF32;
  uint64_t stored_bytes_ = 0;
  std::optional<uint32_t> expert_;
  std::variant<std::span<const std::byte>, formats::GroupwiseInts, formats::Fp8Weights, formats::Mxfp4Expert,
               formats::ExpertBiases, formats::MlxAffineWeights, formats::Nvfp4, formats::TensorScale>
      data_;
};

// All weights of a checkpoint, in the order of its files. Errors: a quantised weight that lacks one of its tensors, or
// whose tensors contradict each other (kDataLoss with both names); an element type that GGUF does not have, and a
// quantisation that is not known here (kUnsupported).
Result<std::vector<std::shared_ptr<const StoredWeight>>> CollectWeights(const formats::HfConfig& config,
                                                                        const formats::SafetensorsModel& model);

}  // namespace inferflux::model
