// AFM (Arcee AI, 2025): Llama's attention; a feed-forward network without a gate, activated by ReLU squared.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kArceeKeys = R"({
  "read": {"vocab_size": 32000, "hidden_size": 2560, "intermediate_size": 18432, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "relu2", "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false, "mlp_bias": false, "head_dim": null,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]}
})";

Result<ModelConfig> ReadArcee(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.rope_style = compute::RopeStyle::kInterleaved,
                            .gated = false,
                            .activation = compute::Activation::kReluSquared});
}

}  // namespace

const Family& Arcee() {
  static const Family family{.architecture = "arcee",
                             .read = ReadArcee,
                             .checkpoints = {{.model_types = {"arcee"},
                                              .keys = kArceeKeys,
                                              .activation = "relu2",
                                              .tensors = {kInterleavedTensors, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
