// GPT-2 (Radford et al., 2019): learned positions, LayerNorm, biases everywhere; q, k and v are one tensor.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadGpt2(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.learned_positions = true,
                            .layer_norm = true,
                            .qkv_bias = true,
                            .gated = false,
                            .activation = compute::Activation::kGeluTanh});
}

}  // namespace

const Family& Gpt2() {
  static const Family family{
      .architecture = "gpt2",
      .read = ReadGpt2,
      .checkpoints = {{.model_types = {"gpt2"},
                       .activation = "gelu_new",
                       .own_tensors = {{"wte", "token_embd"},
                                       {"wpe", "position_embd"},
                                       {"ln_f", "output_norm"},
                                       {"lm_head", "output"},
                                       {"h.*.ln_1", "blk.*.attn_norm"},
                                       {"h.*.attn.c_attn", "blk.*.attn_qkv", TensorChange::kTranspose},
                                       {"h.*.attn.c_proj", "blk.*.attn_output", TensorChange::kTranspose},
                                       {"h.*.ln_2", "blk.*.ffn_norm"},
                                       {"h.*.mlp.c_fc", "blk.*.ffn_up", TensorChange::kTranspose},
                                       {"h.*.mlp.c_proj", "blk.*.ffn_down", TensorChange::kTranspose}},
                       .tensors = {},
                       .ignored = {"*.attn.bias", "*.attn.masked_bias"}}},
      .tokenizers = {.pre_tokenizers = {{{"gpt-2", "gpt2"}, {words::kGpt2}}}, .generation_ends = {"<|endoftext|>"}}};
  return family;
}

}  // namespace inferflux::model
