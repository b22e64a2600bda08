// nomic-embed-text (arXiv:2402.01613): BERT with rotary positions and a gated feed-forward network.
#include "model/families/common.h"
#include "model/families/encoders/encoder_checkpoints.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kNomicBertKeys = R"({
  "read": {"vocab_size": 30528, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "silu", "max_position_embeddings": 2048, "type_vocab_size": 2,
    "layer_norm_eps": 1e-12, "head_dim": null, "rope_theta": 1000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"rotary_emb_fraction": [1.0], "rotary_emb_interleaved": [false], "rotary_emb_scale_base": [null],
    "rotary_scaling_factor": [null], "use_rms_norm": [false], "prenorm": [false], "causal": [false],
    "parallel_block": [false], "activation_function": ["swiglu"], "partial_rotary_factor": [null, 1.0]},
  "unused": ["scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "summary_type",
    "summary_use_proj", "summary_activation", "summary_proj_to_labels", "use_flash_attn", "use_xentropy",
    "fused_bias_fc", "fused_dropout_add_ln", "dense_seq_output", "last_layer_subset", "pad_vocab_size_multiple",
    "tie_word_embeddings", "max_trained_positions", "n_positions", "parallel_block_tied_norm", "shared_kv", "ffn_div",
    "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"],
  "names": {"n_embd": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads",
    "n_inner": "intermediate_size", "n_positions": "max_position_embeddings", "layer_norm_epsilon": "layer_norm_eps",
    "rotary_emb_base": "rope_theta"}
})";

Result<ModelConfig> ReadNomicBert(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.causal = false,
                            .token_types = TokenTypes(source),
                            .layer_norm = true,
                            .input_norms = false,
                            .residual_norms = true,
                            .embedding_norm = true,
                            .final_norm = false});
}

}  // namespace

const Family& NomicBert() {
  static const Family family{.architecture = "nomic-bert",
                             .read = ReadNomicBert,
                             .checkpoints = {{.model_types = {"nomic_bert"},
                                              .keys = kNomicBertKeys,
                                              .causal = false,
                                              .own_tensors = {{"embeddings.word_embeddings", "token_embd"},
                                                              {"embeddings.token_type_embeddings", "token_types"},
                                                              {"emb_ln", "token_embd_norm"},
                                                              {"encoder.layers.*.attn.Wqkv", "blk.*.attn_qkv"},
                                                              {"encoder.layers.*.attn.out_proj", "blk.*.attn_output"},
                                                              {"encoder.layers.*.norm1", "blk.*.attn_output_norm"},
                                                              {"encoder.layers.*.mlp.fc11", "blk.*.ffn_up"},
                                                              {"encoder.layers.*.mlp.fc12", "blk.*.ffn_gate"},
                                                              {"encoder.layers.*.mlp.fc2", "blk.*.ffn_down"},
                                                              {"encoder.layers.*.norm2", "blk.*.layer_output_norm"}},
                                              .tensors = {},
                                              .prefixes = kEncoderPrefixes,
                                              .ignored = kEncoderHeads}}};
  return family;
}

}  // namespace inferflux::model
