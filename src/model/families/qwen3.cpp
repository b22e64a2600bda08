// Qwen3 (arXiv:2505.09388): no biases, and each head of q and k is normalised before RoPE.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadQwen3(const ModelSource& source) {
  auto config = ReadDecoderConfig(source);
  if (config) config->qk_norm = true;
  return config;
}

}  // namespace inferflux::model
