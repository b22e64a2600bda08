#include "model/families/family.h"

#include <fmt/ranges.h>

#include <vector>

#include "model/families/config_names.h"
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
  ROW(Gemma3n)                  \
  ROW(Gemma4)                   \
  ROW(Mistral3)                 \
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
  ROW(Apertus)                  \
  ROW(PhiMoe)                   \
  ROW(Llama4)                   \
  ROW(Falcon)                   \
  ROW(GptNeoX)                  \
  ROW(Deepseek2)                \
  ROW(Deepseek32)               \
  ROW(GlmDsa)                   \
  ROW(Qwen3Next)                \
  ROW(Lfm2)                     \
  ROW(Lfm2Moe)                  \
  ROW(Qwen2Vl)                  \
  ROW(Qwen3Vl)                  \
  ROW(Qwen3VlMoe)               \
  ROW(Qwen35)                   \
  ROW(Qwen35Moe)                \
  ROW(Mamba2)                   \
  ROW(NemotronH)                \
  ROW(NemotronHMoe)             \
  ROW(GraniteHybrid)            \
  ROW(FalconH1)                 \
  ROW(Bert)                     \
  ROW(NomicBert)                \
  ROW(ModernBert)               \
  ROW(Mpnet)                    \
  ROW(GemmaEmbedding)

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
    if (family->architecture == *architecture) {
      auto config = family->read(source, context);
      if (!config && source.format() == "huggingface")
        return tl::make_unexpected(InConfigJson(config.error(), *architecture));
      return config;
    }
    known.push_back(family->architecture);
  }
  return Fail(ErrorCode::kUnsupported, "{}: architecture '{}' is not supported; supported are: {}{}", source.path(),
              *architecture, fmt::join(known, ", "), GgufAdvice(*architecture));
}

}  // namespace inferflux::model
