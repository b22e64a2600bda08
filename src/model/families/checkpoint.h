// How Hugging Face directories hold the models of a family: the words of config.json, the names of the tensors, and
// what has to be done to a tensor so that it is what GGUF files hold.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"

namespace inferflux::model {

enum class TensorChange {
  kNone,
  kInterleaveRows,  // rotary pairs, half a head apart, become neighbours
  kAddOne,          // to each value, which become float32
  kTranspose,       // of matrices that are [inputs, outputs]
  kDropRows,        // the first ones
};

// A tensor's name without ".weight" or ".bias", in the checkpoint and in GGUF files. A "*" is a number: the first is
// the layer's, a second one the expert's, which GGUF files stack in one tensor.
//   {"layers.*.mlp.experts.*.up_proj", "blk.*.ffn_up_exps"}
struct TensorName {
  std::string_view checkpoint;
  std::string_view gguf;
  TensorChange change = TensorChange::kNone;
  bool whole = false;  // the checkpoint's name ends here: it has no ".weight"
};

// What transformers calls the tensors of a decoder, where a family has no names of its own.
extern const std::span<const TensorName> kDecoderTensors;
// q and k, whose rotary pairs GGUF keeps as neighbours and the checkpoint half a head apart.
extern const std::span<const TensorName> kInterleavedTensors;
// The norms of the heads of q and k.
extern const std::span<const TensorName> kQkNormTensors;
// Routed experts: apart, and stacked as MLX's tools write them.
extern const std::span<const TensorName> kExpertTensors;

// A number of config.json that is GGUF metadata as it is.
struct ConfigNumber {
  std::string_view key;   // config.json's
  std::string_view gguf;  // without the architecture
};

struct Checkpoint {
  std::vector<std::string_view> model_types;  // config.json's
  std::string_view activation = "silu";       // what hidden_act must be: GGUF files do not say it
  bool causal = true;                         // false: an encoder
  bool unused_positions = false;  // the table of positions begins with rows that none has: the padding token's id + 1
  std::vector<TensorName> own_tensors = {};                              // looked up before `tensors`
  std::vector<std::span<const TensorName>> tensors = {kDecoderTensors};  // in this order
  std::vector<std::string_view> prefixes = {"model.", "transformer."};   // one of them may be in front of all names
  std::vector<std::string_view> ignored = {"*.rotary_emb.inv_freq"};     // tensors that are not part of the model
  std::vector<ConfigNumber> numbers = {};
  // Refuses what config.json says and GGUF cannot; null: there is nothing of the kind.
  Status (*check)(const formats::HfConfig& config) = nullptr;
};

// Whether `pattern` is `name`, or its end ("*.attn.bias") or its beginning ("pooler.*").
bool MatchesName(std::string_view pattern, std::string_view name);

}  // namespace inferflux::model
