// The type of each tensor in a named quantisation: "Q4_K_M" is mostly Q4_K, with more bits where errors hurt most. The
// choices are llama.cpp's, so that a name means the same everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/gguf/gguf_file.h"
#include "formats/tensor_type.h"

namespace inferflux::formats {

// The layers that a rule applies to.
enum class MixLayers : uint8_t {
  kNone,
  kAll,
  kFirstTwo,
  kFirstFour,
  kFirstSixteenth,
  kFirstEighth,
  kEdgesAndEveryThird,  // the first and last eighth, and every third layer between
  kSharedValues,        // all, in models where four or more query heads share a value head
};

struct MixRule {
  MixLayers layers = MixLayers::kNone;
  TensorType type = TensorType::kF32;  // in these layers
  TensorType rest = TensorType::kF32;  // in the other layers
};

struct QuantMix {
  std::string_view name;
  uint32_t file_type = 0;  // general.file_type
  TensorType base = TensorType::kF32;
  MixRule values;            // attn_v, attn_qkv, attn_kv_b; no rule: base
  MixRule down;              // ffn_down
  MixRule attention_output;  // attn_output
  // attn_output of models with eight experts.
  bool richer_expert_output = false;
  bool experts_only = false;  // all other matrices are Q8_0
};

std::span<const QuantMix> AllQuantMixes();
// Case-insensitive; "Q4_K" is "Q4_K_M". kInvalidArgument lists all names if there is no such mix.
Result<const QuantMix*> FindQuantMix(std::string_view name);

// The facts about a model that decide the types.
struct MixModel {
  uint32_t layers = 0;
  uint32_t experts = 0;
  uint32_t queries_per_value_head = 1;
  bool tied_embeddings = false;  // no output.weight: the embeddings are used instead
  bool has_importance = false;
};
Result<MixModel> DescribeForMix(const GgufFile& file);

// The tensor's new type, or its own if it is not a weight matrix (norms, biases, expert gates, positions...).
TensorType ChooseType(const QuantMix& mix, const MixModel& model, const GgufTensor& tensor);

}  // namespace inferflux::formats
