// Qwen2 and Qwen2.5 (arXiv:2407.10671): Llama's layer with biases on q, k and v.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadQwen2(const ModelSource& source) {
  auto config = ReadDecoderConfig(source);
  if (config) config->qkv_bias = true;
  return config;
}

}  // namespace inferflux::model
