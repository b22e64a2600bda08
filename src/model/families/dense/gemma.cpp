// Gemma 1 (arXiv:2403.08295): scaled embeddings, GELU gates. GGUF stores the norms' weights with 1 added.
#include "model/families/dense/gemma.h"
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGemmaKeys = R"({
  "read": {"vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
    "max_position_embeddings": 8192, "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "attention_bias": false,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"use_bidirectional_attention": [null, false], "partial_rotary_factor": [null, 1.0]},
  "unused": ["hidden_activation"]
})";

constexpr std::string_view kActivation = "gelu_pytorch_tanh";

// The first files say "gelu" and mean the approximation.
Status PrepareGemma(formats::HfConfig& config) {
  if (config.hidden_act == "gelu") config.hidden_act = kActivation;
  return {};
}

Result<ModelConfig> ReadGemma(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context, {.activation = compute::Activation::kGeluTanh});
  if (config) config->embedding_scale = std::sqrt(static_cast<float>(config->hidden));
  return config;
}

}  // namespace

const Family& Gemma() {
  static const Family family{
      .architecture = "gemma",
      .read = ReadGemma,
      .checkpoints = {{.model_types = {"gemma"},
                       .keys = kGemmaKeys,
                       .activation = kActivation,
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.ffn_norm", TensorChange::kAddOne}},
                       .tensors = {kGemmaNorms, kDecoderTensors},
                       .prepare = PrepareGemma}}};
  return family;
}

}  // namespace inferflux::model
