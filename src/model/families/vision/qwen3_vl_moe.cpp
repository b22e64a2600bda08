// The text of Qwen3-VL's MoE models (arXiv:2511.21631): Qwen3-MoE's, with sections of RoPE. Checkpoints hold all
// experts of a layer in one tensor.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/vision/rope_sections.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kQwen3VlMoeKeys = R"({
  "read": {"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
    "num_attention_heads": 16, "num_key_value_heads": 16, "hidden_act": "silu", "max_position_embeddings": 128000,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": true, "attention_bias": false, "decoder_sparse_step": 1,
    "moe_intermediate_size": 1408, "num_experts_per_tok": 4, "num_experts": 60, "mlp_only_layers": null,
    "head_dim": null, "rope_theta": 500000.0, "rope_parameters": null, "rope_scaling": null,
    "rope_parameters.mrope_section": null},
  "only": {"partial_rotary_factor": [null, 1.0], "norm_topk_prob": [true]},
  "unused": ["rope_parameters.mrope_interleaved"],
  "names": {"num_local_experts": "num_experts"}
})";

Status PrepareQwen3VlMoe(formats::HfConfig& config) {
  config.norm_topk_prob = true;
  config.expert_stack = formats::HfExpertStack::kEither;
  return ReadRopeSections(config, {24, 20, 20});
}

Result<ModelConfig> ReadQwen3VlMoe(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead, .moe = {.routing = {.normalise = true}}});
}

}  // namespace

const Family& Qwen3VlMoe() {
  static const Family family{
      .architecture = "qwen3vlmoe",
      .read = ReadQwen3VlMoe,
      .checkpoints = {{.model_types = {"qwen3_vl_moe_text"},
                       .keys = kQwen3VlMoeKeys,
                       .tensors = {kQkNormTensors, kFusedExpertTensors, kExpertTensors, kDecoderTensors},
                       .prepare = PrepareQwen3VlMoe}}};
  return family;
}

}  // namespace inferflux::model
