// Which tensor of a GGUF file is made from which of a checkpoint, and how. A reader of directories and a converter
// follow the same plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "formats/tensor_type.h"
#include "model/huggingface/hf_family.h"
#include "model/huggingface/stored_weight.h"

namespace inferflux::model {

struct TensorRecipe {
  std::string name;  // GGUF's: "blk.0.attn_q.weight"
  // One weight; or one an expert, in order, which a GGUF file stacks as [experts, rows, cols].
  std::vector<std::shared_ptr<const StoredWeight>> parts;
  TensorChange change = TensorChange::kNone;
  uint32_t heads = 0;           // kInterleaveRows: heads that the rows are of
  uint32_t dropped = 0;         // kDropRows: so many
  std::vector<float> computed;  // what the tensor is where it has no parts: the RoPE factors of config.json
  bool per_expert = false;
};

// Errors: a tensor whose name is not known here, an expert that is missing, and what CollectWeights finds wrong.
Result<std::vector<TensorRecipe>> PlanTensors(const formats::HfConfig& config, const HfFamily& family,
                                              const formats::SafetensorsModel& model);

// One part of a tensor, [rows, cols], a vector being one row.
struct TensorPart {
  formats::TensorType type = formats::TensorType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  std::span<const std::byte> data;  // of the checkpoint where it holds them so; empty where they must be made
  std::vector<std::byte> owned;     // what `data` looks into where it was made
};

// Without the values that must be made, which is cheap. `part` < max(1, recipe.parts.size()). kDataLoss names a tensor
// that is empty, or does not have the rows that the change needs.
Result<TensorPart> DescribeTensorPart(const TensorRecipe& recipe, size_t part);
// The part in a form of the checkpoint's own, where it has one and the change is none or one of the order of rows.
// Making it puts the rows in their new order.
struct LayoutPart {
  std::shared_ptr<const StoredWeight> weight;
  formats::WeightLayout stored;  // as the checkpoint has it, perhaps without its numbers
  TensorChange change = TensorChange::kNone;
  uint32_t heads = 0;

  std::shared_ptr<const formats::WeightLayout> Make() const;
};
std::optional<LayoutPart> LayoutOfPart(const TensorRecipe& recipe, size_t part);
// With all values.
Result<TensorPart> ReadTensorPart(const TensorRecipe& recipe, size_t part);

}  // namespace inferflux::model
