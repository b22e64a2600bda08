#include "model/families/family.h"

#include <fmt/ranges.h>

#include <array>
#include <vector>

namespace inferflux::model {
namespace {

constexpr std::array kFamilies = {
    Family{"llama", ReadLlama},  // Llama 2 and 3, Mistral, TinyLlama, and all that share the shape
    Family{"qwen2", ReadQwen2},
    Family{"qwen3", ReadQwen3},
};

}  // namespace

std::span<const Family> Families() { return kFamilies; }

Result<ModelConfig> ReadModelConfig(const ModelSource& source) {
  const auto architecture = source.metadata().Get<std::string>("general.architecture");
  if (!architecture) return tl::make_unexpected(architecture.error());
  std::vector<std::string_view> known;
  for (const Family& family : kFamilies) {
    if (family.architecture == *architecture) return family.read(source);
    known.push_back(family.architecture);
  }
  return Fail(ErrorCode::kUnsupported, "{}: architecture '{}' is not supported; supported are: {}", source.path(),
              *architecture, fmt::join(known, ", "));
}

}  // namespace inferflux::model
