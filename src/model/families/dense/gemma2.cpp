// Gemma 2 (arXiv:2408.00118): norms before and after each sub-layer, soft-capped scores and logits, a window on every
// other layer. GGUF stores the norms' weights with 1 added.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/dense/gemma.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGemma2Keys = R"({
  "read": {"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 8192, "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "attention_bias": false,
    "query_pre_attn_scalar": 256, "sliding_window": 4096, "layer_types": null, "final_logit_softcapping": 30.0,
    "attn_logit_softcapping": 50.0, "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"use_bidirectional_attention": [null, false], "partial_rotary_factor": [null, 1.0]},
  "unused": ["hidden_act", "sliding_window_size"],
  "nullable": ["sliding_window", "final_logit_softcapping", "attn_logit_softcapping"]
})";

// A cap of null is none; a GGUF file without the keys means the caps of the published models.
Status PrepareGemma2(formats::HfConfig& config) {
  SetDefault(config.attn_logit_softcap, 0.0);
  SetDefault(config.final_logit_softcap, 0.0);
  return {};
}

Result<ModelConfig> ReadGemma2(const ModelSource& source, int32_t context) {
  ModelConfig family{.output_norms = true,
                     .attention_softcap = 50.0f,
                     .activation = compute::Activation::kGeluTanh,
                     .logit_softcap = 30.0f};
  auto config = ReadDecoderConfig(source, context, std::move(family), 2);
  if (config) ApplyGemmaScales(source, 46, &*config);
  return config;
}

}  // namespace

const Family& Gemma2() {
  static const Family family{.architecture = "gemma2",
                             .read = ReadGemma2,
                             .checkpoints = {{.model_types = {"gemma2"},
                                              .keys = kGemma2Keys,
                                              .activation = "gelu_pytorch_tanh",
                                              .tensors = {kGemmaNorms, kDecoderTensors},
                                              .prepare = PrepareGemma2}},
                             .tokenizers = {.turn_markers = {"<start_of_turn>", "<end_of_turn>"},
                                            .generation_ends = {"<end_of_turn>", "<eos>"}}};
  return family;
}

}  // namespace inferflux::model
