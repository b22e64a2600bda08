// How Hugging Face directories store the models of a family: the keys of config.json, the names of the tensors, and the
// change that each tensor needs to match its GGUF form.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"

namespace inferflux::model {

enum class TensorChange {
  kNone,
  kInterleaveRows,  // GGUF's order of rotary pairs: neighbours, not half a head apart
  kAddOne,          // adds 1 to each value; the result is float32
  kNegatedExp,      // -exp of each value; the result is float32
  kColumn,          // a vector as a matrix of one column; the result is float32
  kColumnOfNegatedExp,
  kGroupRows,  // the weights of a norm on groups: a row for each
  // The order of gated DeltaNet's value heads (formats::HfValueHeads): of all rows, of those after the rows of q and k,
  // of columns, and of rows after kNegatedExp.
  kTileRows,
  kTileLastRows,
  kTileColumns,
  kTileNegatedExp,
  kTranspose,  // matrices stored as [inputs, outputs]
  // The same, and of the outputs the first half, or the last.
  kTransposeFirstHalf,
  kTransposeLastHalf,
  kDropRows,     // drops the first rows
  kPadRows,      // repeats the first row until there is one for each token
  kUngroupRows,  // q, k and v stored group by group: each KV head's queries, its key, its value. GGUF has all of q
                 // first
  // What each head makes of a latent (formats::HfLatents), stacked by head: its key's plain part, transposed, which is
  // followed by a tensor attn_v_b with its values.
  kHeadKeys,
  kHeadValues,
};

// A tensor's name without ".weight" or ".bias", in the checkpoint and in GGUF files. "*" is a number: the first is the
// layer's, the second the expert's. GGUF files stack all experts in one tensor.
//   {"layers.*.mlp.experts.*.up_proj", "blk.*.ffn_up_exps"}
struct TensorName {
  std::string_view checkpoint;
  std::string_view gguf;
  TensorChange change = TensorChange::kNone;
  bool whole = false;     // the complete name in the checkpoint, without ".weight"
  bool complete = false;  // `gguf` is complete too
  bool stacked = false;   // the first number is that of a matrix in a stack (HfConfig::stacked)
};

// transformers' names of a decoder's tensors, for families without names of their own.
extern const std::span<const TensorName> kDecoderTensors;
// q and k. GGUF stores the two values of a rotary pair as neighbours, the checkpoint half a head apart.
extern const std::span<const TensorName> kInterleavedTensors;
// The norms of the heads of q and k.
extern const std::span<const TensorName> kQkNormTensors;
// Routed experts: one tensor each, or stacked as MLX's tools write them.
extern const std::span<const TensorName> kExpertTensors;

// Attention over latents, and its indexer.
extern const std::span<const TensorName> kLatentTensors;

// Shared experts that have no gate of their own.
extern const std::span<const TensorName> kSharedExpertTensors;
// Mixtral's names of routed experts.
extern const std::span<const TensorName> kMixtralTensors;
// Routed experts in stacks of gate and up, [experts, outputs of both, inputs], and of down; or each transposed.
extern const std::span<const TensorName> kFusedExpertTensors;
// The head of a decoder that classifies texts.
extern const std::span<const TensorName> kScoreTensors;

// A tensor of one value in each layer, which GGUF has as an array of metadata.
//   {"layers.*.mlp.act_fn.beta", "xielu.beta"}
struct LayerValue {
  std::string_view checkpoint;  // complete
  std::string_view gguf;        // complete
};

// A number of config.json that is copied to the GGUF metadata unchanged if it is there.
struct ConfigNumber {
  std::string_view key;   // config.json's
  std::string_view gguf;  // without the architecture
};

struct Checkpoint {
  std::vector<std::string_view> model_types;  // model_type in config.json
  // What the family does with each key of config.json, as JSON: model/huggingface/keys/config_keys.h describes it.
  // Empty: nothing is checked; config_keys_test lets no family do without.
  std::string_view keys = {};
  // A key of config.json that must be true. Such a kind comes before others with the same model type.
  std::string_view flag = {};
  // The same, for other conditions.
  Result<bool> (*applies)(const formats::JsonObject& root) = nullptr;
  std::string_view activation = "silu";      // required hidden_act: GGUF files do not store it
  bool causal = true;                        // false: an encoder
  bool attention = true;                     // false: no layer has it
  bool unused_positions = false;             // the position table starts with (padding token id + 1) unused rows
  std::vector<TensorName> own_tensors = {};  // looked up before `tensors`
  std::vector<std::span<const TensorName>> tensors = {kDecoderTensors};  // in this order
  // Optional prefixes of all names; the first ones are those of models of several parts.
  std::vector<std::string_view> prefixes = {
      "model.language_model.", "language_model.model.", "language_model.", "model.text_model.", "model.",
      "transformer."};
  std::vector<std::string_view> ignored = {"*.rotary_emb.inv_freq"};  // tensors that are not part of the model
  std::vector<TensorName> head = {kScoreTensors.begin(), kScoreTensors.end()};  // of a classifier; looked up first
  std::string_view head_activation = "";  // of its hidden layer, if it is not the family's default
  bool predicting_layers = false;         // layers after the last one predict further tokens; they are not read
  std::vector<LayerValue> layer_values = {};
  std::vector<ConfigNumber> numbers = {};
  std::vector<ConfigNumber> counts = {};  // the same for integers
  // Sets what the family's config.json names otherwise or may leave out; refuses what cannot be computed. Null:
  // nothing.
  Status (*prepare)(formats::HfConfig& config) = nullptr;
  // Refuses settings of config.json that GGUF cannot express; null: no such settings.
  Status (*check)(const formats::HfConfig& config) = nullptr;
};

// Whether `pattern` equals `name`, or matches its end ("*.attn.bias") or its beginning ("pooler.*").
bool MatchesName(std::string_view pattern, std::string_view name);

}  // namespace inferflux::model
