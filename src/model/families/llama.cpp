// Llama 2 and 3 (arXiv:2307.09288, 2407.21783) and Mistral 7B (arXiv:2310.06825), which GGUF writes as the same
// architecture. Its converter permutes q and k so that rotary pairs are neighbours.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {

Result<ModelConfig> ReadLlama(const ModelSource& source) {
  auto config = ReadDecoderConfig(source);
  if (config) config->rope_style = compute::RopeStyle::kInterleaved;
  return config;
}

}  // namespace inferflux::model
