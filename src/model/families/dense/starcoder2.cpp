// StarCoder2 (arXiv:2402.19173): LayerNorm, a feed-forward network without a gate, biases everywhere.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadStarCoder2(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.layer_norm = true, .gated = false, .activation = compute::Activation::kGeluTanh});
}

}  // namespace inferflux::model
