// Gemma 2 (arXiv:2408.00118): norms before and after each sub-layer, soft-capped scores and logits, a window on every
// other layer. GGUF stores the norms' weights with 1 added.
#include "model/families/common.h"
#include "model/families/dense/gemma.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadGemma2(const ModelSource& source, int32_t context) {
  ModelConfig family{.output_norms = true,
                     .attention_softcap = 50.0f,
                     .activation = compute::Activation::kGeluTanh,
                     .logit_softcap = 30.0f};
  auto config = ReadDecoderConfig(source, context, std::move(family), 2);
  if (config) ApplyGemmaScales(source, 46, &*config);
  return config;
}

}  // namespace

const Family& Gemma2() {
  static const Family family{.architecture = "gemma2",
                             .read = ReadGemma2,
                             .checkpoints = {{.model_types = {"gemma2"},
                                              .activation = "gelu_pytorch_tanh",
                                              .tensors = {kGemmaNorms, kDecoderTensors}}},
                             .tokenizers = {.turn_markers = {"<start_of_turn>", "<end_of_turn>"},
                                            .generation_ends = {"<end_of_turn>", "<eos>"}}};
  return family;
}

}  // namespace inferflux::model
