// Qwen1.5-MoE and Qwen2-MoE (arXiv:2407.10671): Qwen2's attention; routed experts, whose probabilities are not
// normalised, and a shared expert with its own gate.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadQwen2Moe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qkv_bias = true});
}

}  // namespace

const Family& Qwen2Moe() {
  static const Family family{
      .architecture = "qwen2moe",
      .read = ReadQwen2Moe,
      .checkpoints = {{.model_types = {"qwen2_moe"},
                       .own_tensors = {{"layers.*.mlp.shared_expert.gate_proj", "blk.*.ffn_gate_shexp"},
                                       {"layers.*.mlp.shared_expert.up_proj", "blk.*.ffn_up_shexp"},
                                       {"layers.*.mlp.shared_expert.down_proj", "blk.*.ffn_down_shexp"},
                                       {"layers.*.mlp.shared_expert_gate", "blk.*.ffn_gate_inp_shexp"}},
                       .tensors = {kExpertTensors, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
