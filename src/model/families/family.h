// The table of model families. A family is one small file that reads its metadata into a ModelConfig, and one row here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

using ReadFamily = Result<ModelConfig>(const ModelSource& source, int32_t context);

struct Family {
  std::string_view architecture;  // GGUF's general.architecture
  ReadFamily* read;
};

std::span<const Family> Families();

// Reads and checks the configuration of any known family. `context`: tokens that the model is configured for, by which
// RoPE scaling is chosen; 0: what it was trained for. kUnsupported names the architecture and lists the known ones.
Result<ModelConfig> ReadModelConfig(const ModelSource& source, int32_t context = 0);

// --- the families' own files ---
ReadFamily ReadLlama;
ReadFamily ReadQwen2;
ReadFamily ReadQwen3;
ReadFamily ReadQwen2Moe;
ReadFamily ReadQwen3Moe;
ReadFamily ReadPhi3;
ReadFamily ReadGemma2;
ReadFamily ReadGemma3;
ReadFamily ReadGranite;
ReadFamily ReadOlmo2;
ReadFamily ReadSmolLm3;
ReadFamily ReadStarCoder2;
ReadFamily ReadGpt2;
ReadFamily ReadGptOss;
ReadFamily ReadBert;
ReadFamily ReadNomicBert;

}  // namespace inferflux::model
