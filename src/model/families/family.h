// What is known of a model family: its GGUF architecture, how metadata become a ModelConfig, how Hugging Face
// directories hold it, and what its tokenizers are known for. One file a family makes one, and the table in family.cpp
// has one row for it. No file outside this folder knows a family by its name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/families/checkpoint.h"
#include "model/families/tokenizers/tokenizer_traits.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

struct Family {
  std::string_view architecture;  // GGUF's general.architecture
  // Reads and checks the configuration. `context`: tokens that the model is configured for, by which RoPE scaling is
  // chosen; 0: what it was trained for.
  Result<ModelConfig> (*read)(const ModelSource& source, int32_t context);
  std::vector<Checkpoint> checkpoints = {};  // the kinds of directories that hold it
  TokenizerTraits tokenizers = {};
};

// The table, in the order in which errors list it.
std::span<const Family* const> Families();

// Reads the configuration of any known family. kUnsupported names the architecture and lists the known ones.
Result<ModelConfig> ReadModelConfig(const ModelSource& source, int32_t context = 0);

}  // namespace inferflux::model
