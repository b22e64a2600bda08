// Phi-3, Phi-3.5, Phi-4 and their mini sizes (arXiv:2404.14219, 2503.01743): q, k and v are one tensor, gate and up
// another; LongRoPE stretches the long ones, and Phi-4-mini rotates a part of each head.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadPhi3(const ModelSource& source, int32_t context) { return ReadDecoderConfig(source, context); }

}  // namespace

const Family& Phi3() {
  static const Family family{.architecture = "phi3",
                             .read = ReadPhi3,
                             .checkpoints = {{.model_types = {"phi3"},
                                              .own_tensors = {{"layers.*.self_attn.qkv_proj", "blk.*.attn_qkv"},
                                                              {"layers.*.mlp.gate_up_proj", "blk.*.ffn_up"}}}}};
  return family;
}

}  // namespace inferflux::model
