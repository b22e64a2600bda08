// The table of model families. A family is one small file that reads its metadata into a ModelConfig, and one row here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/model_config.h"
#include "model/model_source.h"

namespace inferflux::model {

struct Family {
  std::string_view architecture;  // GGUF's general.architecture
  Result<ModelConfig> (*read)(const ModelSource& source);
};

std::span<const Family> Families();

// Reads and checks the configuration of any known family. kUnsupported names the architecture and lists the known ones.
Result<ModelConfig> ReadModelConfig(const ModelSource& source);

// --- the families' own files ---
Result<ModelConfig> ReadLlama(const ModelSource& source);
Result<ModelConfig> ReadQwen2(const ModelSource& source);
Result<ModelConfig> ReadQwen3(const ModelSource& source);

}  // namespace inferflux::model
