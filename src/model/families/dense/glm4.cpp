// GLM-4-0414 (THUDM, 2025; arXiv:2406.12793): norms before and after each sub-layer, biases on q, k and v, gate and up
// as one tensor. Half of each head rotates, in neighbouring pairs.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status PrepareGlm4(formats::HfConfig& config) {
  SetDefault(config.partial_rotary_factor, 0.5);
  return {};
}

Result<ModelConfig> ReadGlm4(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.rope_style = compute::RopeStyle::kInterleaved, .output_norms = true});
}

}  // namespace

const Family& Glm4() {
  static const Family family{
      .architecture = "glm4",
      .read = ReadGlm4,
      .checkpoints = {{.model_types = {"glm4"},
                       .own_tensors = {{"layers.*.post_self_attn_layernorm", "blk.*.post_attention_norm"},
                                       {"layers.*.post_mlp_layernorm", "blk.*.post_ffw_norm"},
                                       {"layers.*.mlp.gate_up_proj", "blk.*.ffn_up"}},
                       .prepare = PrepareGlm4}}};
  return family;
}

}  // namespace inferflux::model
