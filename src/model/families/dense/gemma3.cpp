// Gemma 3 (arXiv:2503.19786): Gemma 2 without soft caps and with norms on the heads of q and k. Five windowed layers,
// which rotate with a small base, alternate with one layer of full attention.
#include "model/families/common.h"
#include "model/families/dense/gemma.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadGemma3(const ModelSource& source, int32_t context) {
  ModelConfig family{.output_norms = true, .qk_norm = QkNorm::kHead, .activation = compute::Activation::kGeluTanh};
  auto config = ReadDecoderConfig(source, context, std::move(family), 6);
  if (!config) return config;
  ApplyGemmaScales(source, 62, &*config);
  if (auto rope = ReadWindowRope(source, 10000.0f, &*config); !rope) return Forward(rope);
  return config;
}

}  // namespace

const Family& Gemma3() {
  static const Family family{.architecture = "gemma3",
                             .read = ReadGemma3,
                             .checkpoints = {{.model_types = {"gemma3_text"},
                                              .activation = "gelu_pytorch_tanh",
                                              .tensors = {kGemmaNorms, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
