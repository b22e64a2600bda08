// Qwen3 (arXiv:2505.09388): no biases, and each head of q and k is normalised before RoPE.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadQwen3(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead});
}

}  // namespace

const Family& Qwen3() {
  static const Family family{.architecture = "qwen3",
                             .read = ReadQwen3,
                             .checkpoints = {{.model_types = {"qwen3"}, .tensors = {kQkNormTensors, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
