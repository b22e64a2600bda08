// Phi-1, 1.5 and 2 (arXiv:2306.11644, 2309.05463): attention and a plain feed-forward network side by side under one
// LayerNorm; biases everywhere, also on the logits; a part of each head rotates.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kPhiKeys = R"({
  "read": {"vocab_size": 51200, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "gelu_new", "max_position_embeddings": 2048,
    "layer_norm_eps": 1e-05, "tie_word_embeddings": false, "head_dim": null, "rope_theta": 10000.0,
    "partial_rotary_factor": 0.5, "rope_parameters": null, "rope_scaling": null},
  "only": {"qk_layernorm": [false]}
})";

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
                                              .keys = kPhiKeys,
                                              .activation = "gelu_new",
                                              .own_tensors = {{"layers.*.self_attn.dense", "blk.*.attn_output"},
                                                              {"layers.*.mlp.fc1", "blk.*.ffn_up"},
                                                              {"layers.*.mlp.fc2", "blk.*.ffn_down"},
                                                              {"final_layernorm", "output_norm"}}}}};
  return family;
}

}  // namespace inferflux::model
