// EmbeddingGemma (arXiv:2509.20354): Gemma 3 whose tokens see both sides; windows reach half as far on each.
// Directories keep two dense layers for the pooled state in modules of their own.
#include "model/families/common.h"
#include "model/families/dense/gemma.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadGemmaEmbedding(const ModelSource& source, int32_t context) {
  return ReadWindowedGemma(source, context, false);
}

}  // namespace

const Family& GemmaEmbedding() {
  static const Family family{.architecture = "gemma-embedding",
                             .read = ReadGemmaEmbedding,
                             .checkpoints = {{.model_types = {"gemma3_text"},
                                              .keys = kGemma3Keys,
                                              .flag = "use_bidirectional_attention",
                                              .activation = "gelu_pytorch_tanh",
                                              .causal = false,
                                              .tensors = {kGemmaNorms, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
