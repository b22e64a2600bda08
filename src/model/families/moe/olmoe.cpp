// OLMoE (arXiv:2409.02060): norms over the whole width of q and of k; small experts, whose probabilities are not
// normalised.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status CheckClip(const formats::HfConfig& config) {
  const auto clip = config.raw.Find<double>("clip_qkv");
  if (!clip) return Forward(clip);
  if (!*clip) return {};
  return Fail(ErrorCode::kUnsupported, "{}: clip_qkv is {}; only null is supported", config.raw.source(), **clip);
}

Result<ModelConfig> ReadOlmoe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kWhole});
}

}  // namespace

const Family& Olmoe() {
  static const Family family{.architecture = "olmoe",
                             .read = ReadOlmoe,
                             .checkpoints = {{.model_types = {"olmoe"},
                                              .tensors = {kQkNormTensors, kExpertTensors, kDecoderTensors},
                                              .check = CheckClip}}};
  return family;
}

}  // namespace inferflux::model
