// Seed-OSS (ByteDance, 2025): Llama's layer with biases on q, k and v. GGUF calls the norm before the feed-forward
// network post_attention_norm.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status PrepareSeedOss(formats::HfConfig& config) {
  SetDefaultHeadDim(config, 128);
  return {};
}

Result<ModelConfig> ReadSeedOss(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.feed_forward_norm = "post_attention_norm"});
}

}  // namespace

const Family& SeedOss() {
  static const Family family{
      .architecture = "seed_oss",
      .read = ReadSeedOss,
      .checkpoints = {{.model_types = {"seed_oss"},
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"}},
                       .prepare = PrepareSeedOss}}};
  return family;
}

}  // namespace inferflux::model
