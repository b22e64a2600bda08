// Granite 3 (IBM, 2024): Llama's layer with fixed multipliers on the embedding, the scores, the residuals and the
// logits. The logits are divided by the file's logit scale.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadGranite(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context, {.rope_style = compute::RopeStyle::kInterleaved});
  if (!config) return config;
  const auto divisor = ReadNumber(source, config->architecture + ".logit_scale", 1.0f, 1e-6f, 1e6f);
  if (!divisor) return Forward(divisor);
  config->logit_scale = 1.0f / *divisor;
  return config;
}

}  // namespace

const Family& Granite() {
  static const Family family{
      .architecture = "granite",
      .read = ReadGranite,
      .checkpoints = {{.model_types = {"granite"},
                       .tensors = {kInterleavedTensors, kDecoderTensors},
                       .numbers = {{"attention_multiplier", "attention.scale"},
                                   {"embedding_multiplier", "embedding_scale"},
                                   {"residual_multiplier", "residual_scale"},
                                   {"logits_scaling", "logit_scale"}}}},
      .tokenizers = {.turn_markers = {"<|start_of_role|>", "<|end_of_role|>"}, .generation_ends = {"<|end_of_text|>"}}};
  return family;
}

}  // namespace inferflux::model
