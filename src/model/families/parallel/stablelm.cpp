// StableLM 3B and StableLM 2 (arXiv:2402.17834): LayerNorm, a quarter of each head rotates; without a norm before the
// feed-forward network it runs beside attention.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status PrepareStableLm(formats::HfConfig& config) {
  SetDefault(config.partial_rotary_factor, 0.25);
  SetDefault(config.layer_norm_eps, 1e-5);
  return RefuseTrue(config, {"qk_layernorm"});
}

Result<ModelConfig> ReadStableLm(const ModelSource& source, int32_t context) {
  if (source.Find("blk.0.attn_q_norm.weight") != nullptr) {
    return Fail(ErrorCode::kUnsupported, "{}: LayerNorms with a weight for each head of q and k are not supported",
                source.path());
  }
  const bool parallel = source.Find("blk.0.ffn_norm.weight") == nullptr;
  return ReadDecoderConfig(source, context,
                           {.layer_norm = true, .feed_forward_norm = parallel ? "" : "ffn_norm", .parallel = parallel});
}

}  // namespace

const Family& StableLm() {
  static const Family family{.architecture = "stablelm",
                             .read = ReadStableLm,
                             .checkpoints = {{.model_types = {"stablelm"}, .prepare = PrepareStableLm}}};
  return family;
}

}  // namespace inferflux::model
