// GPT-2 (Radford et al., 2019): learned positions, LayerNorm, biases everywhere; q, k and v are one tensor.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadGpt2(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.learned_positions = true,
                            .layer_norm = true,
                            .qkv_bias = true,
                            .gated = false,
                            .activation = compute::Activation::kGeluTanh});
}

}  // namespace inferflux::model
