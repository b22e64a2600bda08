// Qwen3 (arXiv:2505.09388): no biases, and each head of q and k is normalised before RoPE.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadQwen3(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead});
}

}  // namespace inferflux::model
