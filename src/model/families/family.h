// All facts about a model family: its GGUF architecture, how metadata become a ModelConfig, how Hugging Face
// directories store it, and its tokenizers' traits. Each family has one file and one row in family.cpp's table. No file
// outside this folder names a family.
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
  // Reads and checks the configuration. `context`: the number of tokens that the model is configured for, which selects
  // the RoPE scaling; 0: its trained context.
  Result<ModelConfig> (*read)(const ModelSource& source, int32_t context);
  std::vector<Checkpoint> checkpoints = {};  // the kinds of directories that store it
  TokenizerTraits tokenizers = {};
};

// The table, in the order of error messages.
std::span<const Family* const> Families();

// Reads the configuration of any known family. kUnsupported names the architecture and lists the known ones.
Result<ModelConfig> ReadModelConfig(const ModelSource& source, int32_t context = 0);

}  // namespace inferflux::model
