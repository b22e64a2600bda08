// Command R and Aya (Cohere, 2024): attention and feed-forward network side by side under one LayerNorm without bias,
// tied embeddings, scaled logits. Neighbouring dimensions rotate.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"
#include "model/families/parallel/cohere.h"

namespace inferflux::model {
namespace {

Status PrepareCommandR(formats::HfConfig& config) {
  SetDefault(config.layer_norm_eps, 1e-5);
  return RefuseTrue(config, {"use_qk_norm"});
}

Result<ModelConfig> ReadCommandR(const ModelSource& source, int32_t context) {
  if (source.Find("blk.0.attn_q_norm.weight") != nullptr) {
    return Fail(ErrorCode::kUnsupported, "{}: LayerNorms with a weight for each head of q and k are not supported",
                source.path());
  }
  return ReadCohere(source, context, 0);
}

}  // namespace

const Family& CommandR() {
  static const Family family{
      .architecture = "command-r",
      .read = ReadCommandR,
      .checkpoints = {
          {.model_types = {"cohere"}, .numbers = {{"logit_scale", "logit_scale"}}, .prepare = PrepareCommandR}}};
  return family;
}

}  // namespace inferflux::model
