// OLMoE (arXiv:2409.02060): norms over the whole width of q and of k; small experts, whose probabilities are not
// normalised.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kOlmoeKeys = R"({
  "read": {"vocab_size": 50304, "hidden_size": 2048, "intermediate_size": 2048, "num_hidden_layers": 16,
    "num_attention_heads": 16, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "attention_bias": false, "num_experts_per_tok": 8,
    "num_experts": 64, "norm_topk_prob": false, "head_dim": null, "rope_theta": 10000.0, "rope_parameters": null,
    "rope_scaling": null},
  "only": {"clip_qkv": [null], "partial_rotary_factor": [null, 1.0]},
  "names": {"num_local_experts": "num_experts"}
})";

Result<ModelConfig> ReadOlmoe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kWhole});
}

}  // namespace

const Family& Olmoe() {
  static const Family family{.architecture = "olmoe",
                             .read = ReadOlmoe,
                             .checkpoints = {{.model_types = {"olmoe"},
                                              .keys = kOlmoeKeys,
                                              .tensors = {kQkNormTensors, kExpertTensors, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
