// Finds the family of a Hugging Face directory from its config.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/huggingface/hf_config.h"
#include "model/families/family.h"

namespace inferflux::model {

struct HfFamily {
  std::string_view architecture;  // GGUF's general.architecture
  const Checkpoint& checkpoint;   // how directories of this model_type store it
};

// Rows at the start of the position table that no token uses.
uint32_t UnusedPositions(const formats::HfConfig& config, const Checkpoint& checkpoint);

struct HfDirectory {
  formats::HfConfig config;
  HfFamily family;
};

// Reads config.json. kUnsupported if the model type, a key (keys/config_keys.h), its activation or its quantisation is
// not supported: the error names it and lists the supported ones. The model type is looked at first, before any other
// value.
Result<HfDirectory> ReadHfDirectory(const std::string& path);

}  // namespace inferflux::model
