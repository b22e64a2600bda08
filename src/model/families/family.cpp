#include "model/families/family.h"

#include <fmt/ranges.h>

#include <vector>

#include "model/families/other_models.h"

namespace inferflux::model {

// The table: one row per family. The family's file defines the function in the row.
#define INFERFLUX_FAMILIES(ROW) \
  ROW(Llama)                    \
  ROW(Qwen2)                    \
  ROW(Qwen3)                    \
  ROW(Qwen2Moe)                 \
  ROW(Qwen3Moe)                 \
  ROW(Phi3)                     \
  ROW(Phi2)                     \
  ROW(Gemma)                    \
  ROW(Gemma2)                   \
  ROW(Gemma3)                   \
  ROW(Granite)                  \
  ROW(Olmo2)                    \
  ROW(SmolLm3)                  \
  ROW(StarCoder2)               \
  ROW(Gpt2)                     \
  ROW(GptOss)                   \
  ROW(Glm4)                     \
  ROW(Glm4Moe)                  \
  ROW(CommandR)                 \
  ROW(Cohere2)                  \
  ROW(Exaone4)                  \
  ROW(SeedOss)                  \
  ROW(Olmoe)                    \
  ROW(StableLm)                 \
  ROW(Ernie45)                  \
  ROW(Ernie45Moe)               \
  ROW(HunyuanDense)             \
  ROW(HunyuanMoe)               \
  ROW(MiniMaxM2)                \
  ROW(Arcee)                    \
  ROW(Falcon)                   \
  ROW(GptNeoX)                  \
  ROW(Qwen3Next)                \
  ROW(Lfm2)                     \
  ROW(Lfm2Moe)                  \
  ROW(Bert)                     \
  ROW(NomicBert)

#define INFERFLUX_DECLARE(name) const Family& name();
INFERFLUX_FAMILIES(INFERFLUX_DECLARE)
#undef INFERFLUX_DECLARE

std::span<const Family* const> Families() {
#define INFERFLUX_ADDRESS(name) &name(),
  static const Family* const families[] = {INFERFLUX_FAMILIES(INFERFLUX_ADDRESS)};
#undef INFERFLUX_ADDRESS
  return families;
}

Result<ModelConfig> ReadModelConfig(const ModelSource& source, int32_t context) {
  const auto architecture = source.metadata().Get<std::string>("general.architecture");
  if (!architecture) return Forward(architecture);
  std::vector<std::string_view> known;
  for (const Family* family : Families()) {
    if (family->architecture == *architecture) return family->read(source, context);
    known.push_back(family->architecture);
  }
  return Fail(ErrorCode::kUnsupported, "{}: architecture '{}' is not supported; supported are: {}{}", source.path(),
              *architecture, fmt::join(known, ", "), GgufAdvice(*architecture));
}

}  // namespace inferflux::model
