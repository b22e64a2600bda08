// MPNet (arXiv:2004.09297): BERT without token types, with one table of biases of attention's scores by distance.
// Positions begin after the padding token's, as RoBERTa's do. No GGUF file of llama.cpp has it.
#include "model/families/common.h"
#include "model/families/encoders/encoder_checkpoints.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kMpnetKeys = R"({
  "read": {"vocab_size": 30527, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "max_position_embeddings": 512, "layer_norm_eps": 1e-12,
    "tie_word_embeddings": true},
  "only": {"relative_attention_num_buckets": [32]}
})";

Status PrepareMpnet(formats::HfConfig& config) {
  constexpr TokenId kPadding = 1;  // whatever the file says: the position table is laid out for it
  config.pad = kPadding;
  return {};
}

Result<ModelConfig> ReadMpnet(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.causal = false,
                            .learned_positions = true,
                            .layer_norm = true,
                            .input_norms = false,
                            .residual_norms = true,
                            .embedding_norm = true,
                            .final_norm = false,
                            .distance_biases = true,
                            .gated = false,
                            .activation = compute::Activation::kGeluErf});
}

}  // namespace

const Family& Mpnet() {
  static const Family family{
      .architecture = "mpnet",
      .read = ReadMpnet,
      .checkpoints = {{.model_types = {"mpnet"},
                       .keys = kMpnetKeys,
                       .activation = "gelu",
                       .causal = false,
                       .unused_positions = true,
                       .own_tensors = {{"embeddings.word_embeddings", "token_embd"},
                                       {"embeddings.position_embeddings", "position_embd", TensorChange::kDropRows},
                                       {"embeddings.LayerNorm", "token_embd_norm"},
                                       {"encoder.relative_attention_bias", "attn_rel_b"},
                                       {"encoder.layer.*.attention.attn.q", "blk.*.attn_q"},
                                       {"encoder.layer.*.attention.attn.k", "blk.*.attn_k"},
                                       {"encoder.layer.*.attention.attn.v", "blk.*.attn_v"},
                                       {"encoder.layer.*.attention.attn.o", "blk.*.attn_output"},
                                       {"encoder.layer.*.attention.LayerNorm", "blk.*.attn_output_norm"},
                                       {"encoder.layer.*.intermediate.dense", "blk.*.ffn_up"},
                                       {"encoder.layer.*.output.dense", "blk.*.ffn_down"},
                                       {"encoder.layer.*.output.LayerNorm", "blk.*.layer_output_norm"}},
                       .tensors = {},
                       .prefixes = {"mpnet."},
                       .ignored = {"pooler.*", "lm_head.*", "*embeddings.position_ids"},
                       .head = {{"classifier.dense", "cls"}, {"classifier.out_proj", "cls.output"}},
                       .prepare = PrepareMpnet}}};
  return family;
}

}  // namespace inferflux::model
