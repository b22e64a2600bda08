// Qwen3-MoE (arXiv:2505.09388): Qwen3's attention; the chosen experts' probabilities sum to 1; no shared expert.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadQwen3Moe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead, .moe = {.routing = {.normalise = true}}});
}

}  // namespace

const Family& Qwen3Moe() {
  static const Family family{
      .architecture = "qwen3moe",
      .read = ReadQwen3Moe,
      .checkpoints = {{.model_types = {"qwen3_moe"}, .tensors = {kQkNormTensors, kExpertTensors, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
