// Phi-3.5-MoE, Phi-mini-MoE and Phi-tiny-MoE (arXiv:2404.14219, 2506.18349): Phi-3's attention with LongRoPE, LayerNorm
// and biases; two experts for each token, which SparseMixer (arXiv:2409.12136) weighs one after the other. llama.cpp's
// graph has RMSNorm and a softmax over both instead, so that its results differ.
#include <string>

#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kPhiMoeKeys = R"({
  "read": {"vocab_size": 32064, "hidden_size": 4096, "intermediate_size": 6400, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "silu", "max_position_embeddings": 131072,
    "original_max_position_embeddings": null, "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
    "sliding_window": null, "num_experts_per_tok": 2, "num_local_experts": 16, "router_jitter_noise": 0.01,
    "attention_bias": false, "lm_head_bias": false, "head_dim": null, "rope_theta": 1000000.0, "rope_parameters": null,
    "rope_parameters.short_mscale": null, "rope_parameters.long_mscale": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "unused": ["output_router_logits", "router_aux_loss_coef", "input_jitter_noise"],
  "names": {"num_experts": "num_local_experts"}
})";

constexpr const char* kJitter = "router_jitter_noise";
constexpr int32_t kUsedExperts = 2;

// GGUF has one scale of LongRoPE's rotations, for short and for long contexts.
Status PrepareLongRope(formats::HfConfig& config) {
  if (!config.rope_scaling) return {};
  if (config.rope_scaling->type != "longrope" && config.rope_scaling->type != "su") {
    return Fail(ErrorCode::kUnsupported,
                "{}: RoPE scaling '{}' is not supported; of model_type 'phimoe' only longrope is", config.raw.source(),
                config.rope_scaling->type);
  }
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto rope = config.raw.Find<formats::JsonObject>(key);
    if (!rope) return Forward(rope);
    if (!*rope || (*rope)->raw().empty()) continue;
    const auto of_short = (*rope)->Find<double>("short_mscale"), of_long = (*rope)->Find<double>("long_mscale");
    if (!of_short) return Forward(of_short);
    if (!of_long) return Forward(of_long);
    if (!*of_short || !*of_long || **of_short != **of_long) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: {} of model_type 'phimoe' needs a short_mscale and an equal long_mscale", config.raw.source(),
                  key);
    }
    config.rope_scaling->attention_factor = **of_short;
    break;
  }
  return {};
}

Status PreparePhiMoe(formats::HfConfig& config) {
  const auto jitter = config.raw.Get<double>(kJitter);
  if (!jitter) return Forward(jitter);
  config.numbers[kJitter] = *jitter;
  if (config.experts_per_token != kUsedExperts) {
    return Fail(ErrorCode::kUnsupported, "{}: num_experts_per_tok is {}; SparseMixer takes {} experts",
                config.raw.source(), config.experts_per_token.value_or(0), kUsedExperts);
  }
  return PrepareLongRope(config);
}

Result<ModelConfig> ReadPhiMoe(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context, {.layer_norm = true});
  if (!config) return config;
  const auto jitter = ReadNumber(source, config->architecture + "." + kJitter, 0.01f, 0.0f, 1e3f);
  if (!jitter) return Forward(jitter);
  compute::RoutingParams& routing = config->moe.routing;
  routing.score = compute::ExpertScore::kSparseMixer;
  routing.tolerance = 2.0f * *jitter;
  if (routing.used != kUsedExperts) {
    return Fail(ErrorCode::kUnsupported, "{}: {}.expert_used_count is {}; SparseMixer takes {} experts", source.path(),
                config->architecture, routing.used, kUsedExperts);
  }
  return config;
}

}  // namespace

const Family& PhiMoe() {
  static const Family family{.architecture = "phimoe",
                             .read = ReadPhiMoe,
                             .checkpoints = {{.model_types = {"phimoe"},
                                              .keys = kPhiMoeKeys,
                                              .tensors = {kMixtralTensors, kExpertTensors, kDecoderTensors},
                                              .prepare = PreparePhiMoe}}};
  return family;
}

}  // namespace inferflux::model
