// BERT (arXiv:1810.04805) and RoBERTa, XLM-R and the sentence encoders made of them: an encoder with learned positions
// and norms after the residual sums. GGUF files hold RoBERTa's positions without the two unused ones in front.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadBert(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.causal = false,
                            .learned_positions = true,
                            .token_types = source.Find("token_types.weight") != nullptr,
                            .layer_norm = true,
                            .input_norms = false,
                            .residual_norms = true,
                            .embedding_norm = true,
                            .final_norm = false,
                            .gated = false,
                            .activation = compute::Activation::kGeluErf});
}

}  // namespace inferflux::model
