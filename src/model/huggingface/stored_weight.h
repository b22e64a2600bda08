// One weight of a checkpoint: a single tensor, or the several tensors of a quantised weight.
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
  // `name`: the weight's name without quantisation, "model.layers.0.mlp.up_proj.weight".
  StoredWeight(std::string name, const formats::SafetensorsTensor& tensor, std::optional<uint32_t> expert = {});
  // A weight made from `packed`, a reader of formats/quantized_checkpoints.
  template <class Packed>
  requires requires(const Packed& packed) { packed.Read(); }
  StoredWeight(std::string name, Packed packed, uint64_t stored_bytes, std::optional<uint32_t> expert = {})
      : name_(std::move(name)),
        shape_{static_cast<uint64_t>(packed.outputs()), static_cast<uint64_t>(packed.inputs())},
        type_(packed.type()),
        stored_bytes_(stored_bytes),
        expert_(expert),
        data_(std::move(packed)) {}

  // One value, [1] of F32, that belongs to a weight.
  StoredWeight(std::string name, formats::TensorScale tensor_scale);

  const std::string& name() const { return name_; }
  const std::vector<uint64_t>& shape() const { return shape_; }  // slowest-varying first: {outputs, inputs}
  formats::TensorType type() const { return type_; }
  uint64_t stored_bytes() const { return stored_bytes_; }
  // The index in a stack of experts, if name() is the stack's.
  std::optional<uint32_t> expert() const { return expert_; }

  // The values in type() if the checkpoint stores them so, unaligned; empty if Read must make them.
  std::span<const std::byte> mapped() const;
  std::vector<std::byte> Read() const;
  // The checkpoint's own layout, if GGUF does not have it.
  std::optional<formats::WeightLayout> layout() const;
  // The layout from layout() with its data, which layout() omits if they must be made.
  formats::WeightLayout ReadLayout(const formats::WeightLayout& layout) const;

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

// All weights of a checkpoint, in the order of its files. Errors: kDataLoss, with both names, if a quantised weight
// lacks one of its tensors or its tensors contradict each other; kUnsupported for an element type that GGUF does not
// have, and for an unsupported quantisation.
Result<std::vector<std::shared_ptr<const StoredWeight>>> CollectWeights(const formats::HfConfig& config,
                                                                        const formats::SafetensorsModel& model);

}  // namespace inferflux::model
