// Hunyuan-A13B (Tencent, 2025): Hunyuan's attention; experts with normalised probabilities beside a shared one.
#include "model/families/common.h"
#include "model/families/dense/hunyuan.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Status PrepareHunyuanMoe(formats::HfConfig& config) {
  if (auto prepared = PrepareHunyuan(config); !prepared) return prepared;
  config.shared_expert_intermediate_size = config.intermediate_size;
  return {};
}

Result<ModelConfig> ReadHunyuanMoe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.qk_norm = QkNorm::kHead,
                            .qk_norm_after_rope = true,
                            .moe = {.shared_gate = false, .routing = {.normalise = true}}});
}

}  // namespace

const Family& HunyuanMoe() {
  static const Family family{
      .architecture = "hunyuan-moe",
      .read = ReadHunyuanMoe,
      .checkpoints = {{.model_types = {"hunyuan_v1_moe"},
                       .own_tensors = {{"layers.*.mlp.gate.wg", "blk.*.ffn_gate_inp"},
                                       {"layers.*.mlp.shared_mlp.gate_proj", "blk.*.ffn_gate_shexp"},
                                       {"layers.*.mlp.shared_mlp.up_proj", "blk.*.ffn_up_shexp"},
                                       {"layers.*.mlp.shared_mlp.down_proj", "blk.*.ffn_down_shexp"}},
                       .tensors = {kHunyuanNorms, kExpertTensors, kDecoderTensors},
                       .prepare = PrepareHunyuanMoe}}};
  return family;
}

}  // namespace inferflux::model
