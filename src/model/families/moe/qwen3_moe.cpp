// Qwen3-MoE (arXiv:2505.09388): Qwen3's attention; the chosen experts' probabilities sum to 1; no shared expert.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kQwen3MoeKeys = R"({
  "read": {"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 24,
    "num_attention_heads": 32, "num_key_value_heads": 4, "hidden_act": "silu", "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false, "use_sliding_window": false,
    "sliding_window": 4096, "decoder_sparse_step": 1, "moe_intermediate_size": 768, "num_experts_per_tok": 8,
    "num_experts": 128, "norm_topk_prob": false, "mlp_only_layers": null, "head_dim": null, "rope_theta": 10000.0,
    "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "unused": ["max_window_layers"],
  "names": {"num_local_experts": "num_experts"},
  "nullable": ["sliding_window"]
})";

// With use_sliding_window all layers have a window.
Status PrepareQwen3Moe(formats::HfConfig& config) {
  if (!config.use_sliding_window.value_or(false)) config.sliding_window.reset();
  return {};
}

Result<ModelConfig> ReadQwen3Moe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead, .moe = {.routing = {.normalise = true}}});
}

}  // namespace

const Family& Qwen3Moe() {
  static const Family family{.architecture = "qwen3moe",
                             .read = ReadQwen3Moe,
                             .checkpoints = {{.model_types = {"qwen3_moe"},
                                              .keys = kQwen3MoeKeys,
                                              .tensors = {kQkNormTensors, kExpertTensors, kDecoderTensors},
                                              .prepare = PrepareQwen3Moe}}};
  return family;
}

}  // namespace inferflux::model
