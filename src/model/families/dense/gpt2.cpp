// GPT-2 (Radford et al., 2019): learned positions, LayerNorm, biases everywhere; q, k and v are one tensor.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGpt2Keys = R"({
  "read": {"vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": null,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "scale_attn_weights": true,
    "tie_word_embeddings": true},
  "only": {"scale_attn_by_inverse_layer_idx": [false], "add_cross_attention": [false]},
  "unused": ["reorder_and_upcast_attn", "n_ctx", "summary_type", "summary_use_proj", "summary_activation",
    "summary_proj_to_labels"],
  "names": {"hidden_size": "n_embd", "max_position_embeddings": "n_positions", "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer"}
})";

Status PrepareGpt2(formats::HfConfig& config) {
  const auto scaled = config.raw.Get<bool>("scale_attn_weights");
  if (!scaled) return Forward(scaled);
  if (!*scaled) config.query_pre_attn_scalar = 1.0;  // scores as they are
  return {};
}

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
                       .keys = kGpt2Keys,
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
                       .ignored = {"*.attn.bias", "*.attn.masked_bias"},
                       .prepare = PrepareGpt2}},
      .tokenizers = {.pre_tokenizers = {{{"gpt-2", "gpt2"}, {words::kGpt2}}}, .generation_ends = {"<|endoftext|>"}}};
  return family;
}

}  // namespace inferflux::model
