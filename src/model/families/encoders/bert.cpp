// BERT (arXiv:1810.04805), RoBERTa, XLM-R, DistilBERT and the sentence encoders derived from them: an encoder with
// learned positions and norms after the residual sums. GGUF files store RoBERTa's positions without the first two rows,
// which are unused.
#include "model/families/common.h"
#include "model/families/encoders/encoder_checkpoints.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

// Also XLM-R's, whose defaults in transformers are BERT's.
constexpr std::string_view kBertKeys = R"({
  "read": {"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2,
    "layer_norm_eps": 1e-12, "tie_word_embeddings": true},
  "only": {"is_decoder": [false], "add_cross_attention": [false], "position_embedding_type": ["absolute"]},
  "unused": ["directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
    "pooler_size_per_head", "pooler_type", "output_past"]
})";

constexpr std::string_view kRobertaKeys = R"({
  "read": {"vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2,
    "layer_norm_eps": 1e-12, "tie_word_embeddings": true},
  "only": {"is_decoder": [false], "add_cross_attention": [false], "position_embedding_type": ["absolute"]},
  "unused": ["directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
    "pooler_size_per_head", "pooler_type", "output_past"]
})";

constexpr TensorName kBertTensors[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"encoder.layer.*.attention.self.query", "blk.*.attn_q"},
    {"encoder.layer.*.attention.self.key", "blk.*.attn_k"},
    {"encoder.layer.*.attention.self.value", "blk.*.attn_v"},
    {"encoder.layer.*.attention.output.dense", "blk.*.attn_output"},
    {"encoder.layer.*.attention.output.LayerNorm", "blk.*.attn_output_norm"},
    {"encoder.layer.*.intermediate.dense", "blk.*.ffn_up"},
    {"encoder.layer.*.output.dense", "blk.*.ffn_down"},
    {"encoder.layer.*.output.LayerNorm", "blk.*.layer_output_norm"},
};

constexpr TensorName kRobertaTensors[] = {{"embeddings.position_embeddings", "position_embd", TensorChange::kDropRows}};
const std::vector<TensorName> kRobertaHead = {{"classifier.dense", "cls"}, {"classifier.out_proj", "cls.output"}};

Result<ModelConfig> ReadBert(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.causal = false,
                            .learned_positions = true,
                            .token_types = TokenTypes(source),
                            .layer_norm = true,
                            .input_norms = false,
                            .residual_norms = true,
                            .embedding_norm = true,
                            .final_norm = false,
                            .gated = false,
                            .activation = compute::Activation::kGeluErf});
}

}  // namespace

const Family& Bert() {
  static const Family family{.architecture = "bert",
                             .read = ReadBert,
                             .checkpoints = {{.model_types = {"bert"},
                                              .keys = kBertKeys,
                                              .activation = "gelu",
                                              .causal = false,
                                              .tensors = {kBertTensors},
                                              .prefixes = kEncoderPrefixes,
                                              .ignored = kEncoderHeads,
                                              .head = {{"pooler.dense", "cls"}, {"classifier", "cls.output"}}},
                                             {.model_types = {"roberta"},
                                              .keys = kRobertaKeys,
                                              .activation = "gelu",
                                              .causal = false,
                                              .unused_positions = true,
                                              .tensors = {kRobertaTensors, kBertTensors},
                                              .prefixes = kEncoderPrefixes,
                                              .ignored = kEncoderHeads,
                                              .head = kRobertaHead},
                                             {.model_types = {"xlm-roberta"},
                                              .keys = kBertKeys,
                                              .activation = "gelu",
                                              .causal = false,
                                              .unused_positions = true,
                                              .tensors = {kRobertaTensors, kBertTensors},
                                              .prefixes = kEncoderPrefixes,
                                              .ignored = kEncoderHeads,
                                              .head = kRobertaHead},
                                             DistilBertCheckpoint()},
                             .tokenizers = {.pre_tokenizers = {{{"roberta-bpe"}, {words::kGpt2}}}}};
  return family;
}

}  // namespace inferflux::model
