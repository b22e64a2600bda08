// nomic-embed-text (arXiv:2402.01613): BERT with rotary positions and a gated feed-forward network.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadNomicBert(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.causal = false,
                            .token_types = source.Find("token_types.weight") != nullptr,
                            .layer_norm = true,
                            .input_norms = false,
                            .residual_norms = true,
                            .embedding_norm = true,
                            .final_norm = false});
}

}  // namespace inferflux::model
