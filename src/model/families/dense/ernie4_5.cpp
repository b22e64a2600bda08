// ERNIE 4.5 (Baidu, 2025): Llama's layer; neighbouring dimensions rotate.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status PrepareErnie(formats::HfConfig& config) {
  SetDefaultHeadDim(config, 128);
  SetDefault(config.rope_theta, 500000.0);
  return {};
}

Result<ModelConfig> ReadErnie(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.rope_style = compute::RopeStyle::kInterleaved});
}

}  // namespace

const Family& Ernie45() {
  static const Family family{.architecture = "ernie4_5",
                             .read = ReadErnie,
                             .checkpoints = {{.model_types = {"ernie4_5"}, .prepare = PrepareErnie}}};
  return family;
}

}  // namespace inferflux::model
