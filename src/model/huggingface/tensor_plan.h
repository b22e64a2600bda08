// Maps the tensors of a checkpoint to those of a GGUF file. The reader of directories and the converter use the same
// plan.
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
  // One weight; or one per expert, in order, which a GGUF file stacks as [experts, rows, cols].
  std::vector<std::shared_ptr<const StoredWeight>> parts;
  TensorChange change = TensorChange::kNone;
  uint32_t heads = 0;                         // kInterleaveRows, kUngroupRows: number of heads in the rows
  uint32_t kv_heads = 0;                      // kUngroupRows: number of groups
  uint32_t dropped = 0;                       // kDropRows: number of rows
  uint32_t padded = 0;                        // kPadRows: number of rows after it
  uint32_t groups = 1;                        // kGroupRows: number of rows
  formats::HfValueHeads value_heads = {};     // kTile...: their order
  formats::HfLatents latents = {};            // kHeadKeys, kHeadValues: a head's rows
  std::vector<formats::HfRowFactor> factors;  // of the result's rows, which keep a type of plain floats
  std::vector<float> computed;                // the tensor's values if it has no parts: RoPE factors from config.json
  bool per_expert = false;
};

// Errors: an unknown tensor name, a missing expert, and the errors of CollectWeights.
Result<std::vector<TensorRecipe>> PlanTensors(const formats::HfConfig& config, const HfFamily& family,
                                              const formats::SafetensorsModel& model);

// One part of a tensor, [rows, cols]. A vector is one row.
struct TensorPart {
  formats::TensorType type = formats::TensorType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  std::span<const std::byte> data;  // in the checkpoint if it stores them so; empty if they must be made
  std::vector<std::byte> owned;     // the memory of `data` if it was made
};

// Without values that must be made, so it is cheap. `part` < max(1, recipe.parts.size()). kDataLoss names a tensor that
// is empty, or lacks the rows that the change needs.
Result<TensorPart> DescribeTensorPart(const TensorRecipe& recipe, size_t part);
// The part in a layout of the checkpoint's own, if it has one and the change is none or only reorders rows. Make()
// applies the new order of rows.
struct LayoutPart {
  std::shared_ptr<const StoredWeight> weight;
  formats::WeightLayout stored;  // as in the checkpoint, possibly without its data
  TensorChange change = TensorChange::kNone;
  uint32_t heads = 0;

  std::shared_ptr<const formats::WeightLayout> Make() const;
};
std::optional<LayoutPart> LayoutOfPart(const TensorRecipe& recipe, size_t part);
// The matrices that are stacked in a part.
uint64_t StackedMatrices(const TensorRecipe& recipe);
// With all values.
Result<TensorPart> ReadTensorPart(const TensorRecipe& recipe, size_t part);

}  // namespace inferflux::model
