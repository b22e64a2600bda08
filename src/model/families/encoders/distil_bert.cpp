// DistilBERT (arXiv:1910.01108): BERT without token types, and with names of its own. GGUF files call it BERT.
#include "model/families/config_settings.h"
#include "model/families/encoders/encoder_checkpoints.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kDistilBertKeys = R"({
  "read": {"vocab_size": 30522, "max_position_embeddings": 512, "n_layers": 6, "n_heads": 12, "dim": 768,
    "hidden_dim": 3072, "tie_word_embeddings": true},
  "only": {"activation": ["gelu"]},
  "unused": ["sinusoidal_pos_embds", "output_past"],
  "names": {"hidden_size": "dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers"}
})";

Status PrepareDistilBert(formats::HfConfig& config) {
  SetDefault(config.layer_norm_eps, 1e-12);
  return {};
}

}  // namespace

Checkpoint DistilBertCheckpoint() {
  return {.model_types = {"distilbert"},
          .keys = kDistilBertKeys,
          .activation = "gelu",
          .causal = false,
          .own_tensors = {{"embeddings.word_embeddings", "token_embd"},
                          {"embeddings.position_embeddings", "position_embd"},
                          {"embeddings.LayerNorm", "token_embd_norm"},
                          {"transformer.layer.*.attention.q_lin", "blk.*.attn_q"},
                          {"transformer.layer.*.attention.k_lin", "blk.*.attn_k"},
                          {"transformer.layer.*.attention.v_lin", "blk.*.attn_v"},
                          {"transformer.layer.*.attention.out_lin", "blk.*.attn_output"},
                          {"transformer.layer.*.sa_layer_norm", "blk.*.attn_output_norm"},
                          {"transformer.layer.*.ffn.lin1", "blk.*.ffn_up"},
                          {"transformer.layer.*.ffn.lin2", "blk.*.ffn_down"},
                          {"transformer.layer.*.output_layer_norm", "blk.*.layer_output_norm"}},
          .tensors = {},
          .prefixes = {"distilbert."},
          .ignored = {"vocab_transform.*", "vocab_layer_norm.*", "vocab_projector.*"},
          .head = {{"pre_classifier", "cls"}, {"classifier", "cls.output"}},
          .head_activation = "relu",
          .prepare = PrepareDistilBert};
}

}  // namespace inferflux::model
