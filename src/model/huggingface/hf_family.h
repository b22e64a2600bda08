// The table of families as Hugging Face directories hold them: one row each, which says how the checkpoint differs from
// the GGUF file of the same model. The names of tensors are in tensor_plan.cpp, those of metadata in metadata.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"

namespace inferflux::model {

struct HfFamily {
  std::string_view model_type;           // config.json's
  std::string_view architecture;         // GGUF's general.architecture
  std::string_view activation = "silu";  // what hidden_act must be: GGUF files do not say it
  bool interleaved = false;    // GGUF keeps the rotary pairs of q and k as neighbours, the checkpoint half a head apart
  bool shifted_norms = false;  // the checkpoint holds the norms' weights less 1
  bool inputs_first = false;   // the checkpoint's matrices of the layers are [inputs, outputs]
  bool norms_after = false;    // post_attention_layernorm comes after attention, not before the feed-forward network
  bool encoder = false;        // tokens see what follows them; heads for other tasks are left out
  bool unused_positions = false;  // the table of positions begins with rows that none has: the padding token's id + 1
};

std::span<const HfFamily> HfFamilies();

// Rows at the front of the table of positions that no token has.
uint32_t UnusedPositions(const formats::HfConfig& config, const HfFamily& family);

// kUnsupported where the model type, its activation or its quantisation is not known here: it is named, with what is
// known.
Result<const HfFamily*> FindHfFamily(const formats::HfConfig& config);

}  // namespace inferflux::model
