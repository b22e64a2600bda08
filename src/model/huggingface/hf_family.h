// Finds the family of a Hugging Face directory by its config.json.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "model/families/family.h"

namespace inferflux::model {

struct HfFamily {
  std::string_view architecture;  // GGUF's general.architecture
  const Checkpoint& checkpoint;   // how directories of this model_type hold it
};

// Rows at the front of the table of positions that no token has.
uint32_t UnusedPositions(const formats::HfConfig& config, const Checkpoint& checkpoint);

// kUnsupported where the model type, its activation or its quantisation is not known here: it is named, with what is
// known.
Result<HfFamily> FindHfFamily(const formats::HfConfig& config);

}  // namespace inferflux::model
