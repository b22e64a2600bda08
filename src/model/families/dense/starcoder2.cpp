// StarCoder2 (arXiv:2402.19173): LayerNorm, a feed-forward network without a gate, biases everywhere.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kStarCoder2Keys = R"({
  "read": {"vocab_size": 49152, "hidden_size": 3072, "intermediate_size": 12288, "num_hidden_layers": 30,
    "num_attention_heads": 24, "num_key_value_heads": 2, "hidden_act": "gelu_pytorch_tanh",
    "max_position_embeddings": 4096, "norm_epsilon": 1e-05, "sliding_window": null, "use_bias": true,
    "tie_word_embeddings": true, "head_dim": null, "rope_theta": 10000.0, "rope_parameters": null,
    "rope_scaling": null},
  "only": {"mlp_type": ["default"], "norm_type": ["layer_norm"], "partial_rotary_factor": [null, 1.0]},
  "unused": ["activation_function", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32",
    "scale_attn_weights"]
})";

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
                       .keys = kStarCoder2Keys,
                       .activation = "gelu_pytorch_tanh",
                       .own_tensors = {{"layers.*.mlp.c_fc", "blk.*.ffn_up"},
                                       {"layers.*.mlp.c_proj", "blk.*.ffn_down"}}}},
      .tokenizers = {.pre_tokenizers = {{{"starcoder"}, {words::kDigitsApart}}}, .generation_ends = {"<|endoftext|>"}}};
  return family;
}

}  // namespace inferflux::model
