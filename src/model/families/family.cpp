#include "model/families/family.h"

#include <fmt/ranges.h>

#include <array>
#include <vector>

namespace inferflux::model {
namespace {

constexpr std::array kFamilies = {
    Family{"llama", ReadLlama},       Family{"qwen2", ReadQwen2},
    Family{"qwen3", ReadQwen3},       Family{"qwen2moe", ReadQwen2Moe},
    Family{"qwen3moe", ReadQwen3Moe}, Family{"phi3", ReadPhi3},
    Family{"gemma2", ReadGemma2},     Family{"gemma3", ReadGemma3},
    Family{"granite", ReadGranite},   Family{"olmo2", ReadOlmo2},
    Family{"smollm3", ReadSmolLm3},   Family{"starcoder2", ReadStarCoder2},
    Family{"gpt2", ReadGpt2},         Family{"gpt-oss", ReadGptOss},
    Family{"bert", ReadBert},         Family{"nomic-bert", ReadNomicBert},
};

}  // namespace

std::span<const Family> Families() { return kFamilies; }

Result<ModelConfig> ReadModelConfig(const ModelSource& source, int32_t context) {
  const auto architecture = source.metadata().Get<std::string>("general.architecture");
  if (!architecture) return Forward(architecture);
  std::vector<std::string_view> known;
  for (const Family& family : kFamilies) {
    if (family.architecture == *architecture) return family.read(source, context);
    known.push_back(family.architecture);
  }
  return Fail(ErrorCode::kUnsupported, "{}: architecture '{}' is not supported; supported are: {}", source.path(),
              *architecture, fmt::join(known, ", "));
}

}  // namespace inferflux::model
