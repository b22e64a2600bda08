// BERT (arXiv:1810.04805), RoBERTa, XLM-R and the sentence encoders derived from them: an encoder with learned
// positions and norms after the residual sums. GGUF files store RoBERTa's positions without the first two rows, which
// are unused.
#include "model/families/common.h"
#include "model/families/encoders/encoder_checkpoints.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

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

Result<ModelConfig> ReadBert(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.causal = false,
                            .learned_positions = true,
                            .token_types = source.Find("token_types.weight") != nullptr,
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
  static const Family family{
      .architecture = "bert",
      .read = ReadBert,
      .checkpoints = {{.model_types = {"bert"},
                       .activation = "gelu",
                       .causal = false,
                       .tensors = {kBertTensors},
                       .prefixes = kEncoderPrefixes,
                       .ignored = kEncoderHeads},
                      {.model_types = {"roberta", "xlm-roberta"},
                       .activation = "gelu",
                       .causal = false,
                       .unused_positions = true,
                       .own_tensors = {{"embeddings.position_embeddings", "position_embd", TensorChange::kDropRows}},
                       .tensors = {kBertTensors},
                       .prefixes = kEncoderPrefixes,
                       .ignored = kEncoderHeads}},
      .tokenizers = {.pre_tokenizers = {{{"roberta-bpe"}, {words::kGpt2}}}}};
  return family;
}

}  // namespace inferflux::model
