// SmolLM3 (Hugging Face, 2025): Llama's layer, every fourth of which does not rotate (NoPE, arXiv:2501.18795).
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadSmolLm3(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context, {.rope_style = compute::RopeStyle::kInterleaved});
  if (!config) return config;
  for (int32_t i = 3; i < config->layers; i += 4) config->layer_kinds[i].rope = kNoRope;
  return config;
}

}  // namespace inferflux::model
