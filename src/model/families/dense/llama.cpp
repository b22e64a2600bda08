// Llama 2 and 3 (arXiv:2307.09288, 2407.21783), Mistral 7B (arXiv:2310.06825), Mixtral (arXiv:2401.04088), SmolLM and
// all that share the shape, which GGUF writes as one architecture. Its converter permutes q and k so that rotary pairs
// are neighbours.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadLlama(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.rope_style = compute::RopeStyle::kInterleaved, .moe = {.routing = {.normalise = true}}});
}

}  // namespace inferflux::model
