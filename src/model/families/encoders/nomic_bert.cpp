// nomic-embed-text (arXiv:2402.01613): BERT with rotary positions and a gated feed-forward network.
#include "model/families/common.h"
#include "model/families/encoders/encoder_checkpoints.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadNomicBert(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.causal = false,
                            .token_types = source.Find("token_types.weight") != nullptr,
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
