// Qwen1.5-MoE and Qwen2-MoE (arXiv:2407.10671): Qwen2's attention; routed experts, whose probabilities are taken as
// they are, and a shared one that a gate of its own weighs.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadQwen2Moe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qkv_bias = true});
}

}  // namespace inferflux::model
