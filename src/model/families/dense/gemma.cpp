// Gemma 1 (arXiv:2403.08295): scaled embeddings, GELU gates. GGUF stores the norms' weights with 1 added.
#include "model/families/dense/gemma.h"
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kActivation = "gelu_pytorch_tanh";

// The first files say "gelu" and mean the approximation.
Status PrepareGemma(formats::HfConfig& config) {
  SetDefaultHeadDim(config, 256);
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
                       .activation = kActivation,
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.ffn_norm", TensorChange::kAddOne}},
                       .tensors = {kGemmaNorms, kDecoderTensors},
                       .prepare = PrepareGemma}}};
  return family;
}

}  // namespace inferflux::model
