// Gemma 3 (arXiv:2503.19786): Gemma 2 without soft caps and with norms on the heads of q and k. Five windowed layers,
// which rotate with a small base, alternate with one layer of full attention.
#include "model/families/common.h"
#include "model/families/dense/gemma.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadGemma3(const ModelSource& source, int32_t context) {
  return ReadWindowedGemma(source, context, true);
}

}  // namespace

const Family& Gemma3() {
  static const Family family{.architecture = "gemma3",
                             .read = ReadGemma3,
                             .checkpoints = {{.model_types = {"gemma3_text"},
                                              .keys = kGemma3Keys,
                                              .activation = "gelu_pytorch_tanh",
                                              .tensors = {kGemmaNorms, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
