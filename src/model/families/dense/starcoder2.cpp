// StarCoder2 (arXiv:2402.19173): LayerNorm, a feed-forward network without a gate, biases everywhere.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadStarCoder2(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.layer_norm = true, .gated = false, .activation = compute::Activation::kGeluTanh});
}

}  // namespace

const Family& StarCoder2() {
  static const Family family{
      .architecture = "starcoder2",
      .read = ReadStarCoder2,
      .checkpoints = {{.model_types = {"starcoder2"},
                       .activation = "gelu_pytorch_tanh",
                       .own_tensors = {{"layers.*.mlp.c_fc", "blk.*.ffn_up"},
                                       {"layers.*.mlp.c_proj", "blk.*.ffn_down"}}}},
      .tokenizers = {.pre_tokenizers = {{{"starcoder"}, {words::kDigitsApart}}}, .generation_ends = {"<|endoftext|>"}}};
  return family;
}

}  // namespace inferflux::model
