// Phi-1, 1.5 and 2 (arXiv:2306.11644, 2309.05463): attention and a plain feed-forward network side by side under one
// LayerNorm; biases everywhere, also on the logits; a part of each head rotates.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status PreparePhi(formats::HfConfig& config) {
  SetDefault(config.partial_rotary_factor, 0.5);
  SetDefault(config.layer_norm_eps, 1e-5);
  return RefuseTrue(config, {"qk_layernorm"});
}

Result<ModelConfig> ReadPhi2(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.layer_norm = true,
                            .feed_forward_norm = "",
                            .parallel = true,
                            .qkv_bias = true,
                            .gated = false,
                            .activation = compute::Activation::kGeluTanh});
}

}  // namespace

const Family& Phi2() {
  static const Family family{.architecture = "phi2",
                             .read = ReadPhi2,
                             .checkpoints = {{.model_types = {"phi"},
                                              .activation = "gelu_new",
                                              .own_tensors = {{"layers.*.self_attn.dense", "blk.*.attn_output"},
                                                              {"layers.*.mlp.fc1", "blk.*.ffn_up"},
                                                              {"layers.*.mlp.fc2", "blk.*.ffn_down"},
                                                              {"final_layernorm", "output_norm"}},
                                              .prepare = PreparePhi}}};
  return family;
}

}  // namespace inferflux::model
