// gpt-oss (arXiv:2508.10925): a sink in each head's softmax, a window on every other layer, YaRN without rounding of
// its ramp, biases everywhere, and experts with a clamped gate. GGUF calls the norm before the experts
// post_attention_norm.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/rope_scaling.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

// In this format <|end|> closes one message of several, and <|call|> or <|return|> closes the turn.
void KeepMessageEnds(const formats::GgufMetadata&, text::VocabSpec& vocab) {
  if (EndsGeneration(vocab, "<|call|>") && EndsGeneration(vocab, "<|return|>")) DropGenerationEnd(vocab, "<|end|>");
}

// The clamp of the gates is part of the activation; GGUF's metadata do not store it.
Status CheckClamp(const formats::HfConfig& config) {
  for (const auto& [key, known] : {std::pair{"swiglu_limit", 7.0}, std::pair{"swiglu_alpha", 1.702}}) {
    const auto value = config.raw.GetOr<double>(key, known);
    if (!value) return Forward(value);
    if (*value != known) {
      return Fail(ErrorCode::kUnsupported, "{}: {} is {}; only {} is supported", config.raw.source(), key, *value,
                  known);
    }
  }
  return {};
}

Result<ModelConfig> ReadGptOss(const ModelSource& source, int32_t context) {
  ModelConfig family{.feed_forward_norm = "post_attention_norm",
                     .attention_sinks = true,
                     .qkv_bias = true,
                     .activation = compute::Activation::kClampedSwiglu,
                     .moe = {.routing = {.normalise = true}}};
  auto config = ReadDecoderConfig(source, context, std::move(family), 2);
  if (!config) return config;
  auto rope = ReadRope(source, *config, context == 0 ? config->context : context, {.round_yarn_ramp = false});
  if (!rope) return Forward(rope);
  config->ropes = {std::move(*rope)};
  return config;
}

}  // namespace

const Family& GptOss() {
  static const Family family{
      .architecture = "gpt-oss",
      .read = ReadGptOss,
      .checkpoints = {{.model_types = {"gpt_oss"},
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
                                       {"layers.*.self_attn.sinks", "blk.*.attn_sinks", TensorChange::kNone,
                                        /*whole=*/true},
                                       {"layers.*.mlp.router", "blk.*.ffn_gate_inp"},
                                       {"layers.*.mlp.experts.gate_proj", "blk.*.ffn_gate_exps"},
                                       {"layers.*.mlp.experts.up_proj", "blk.*.ffn_up_exps"},
                                       {"layers.*.mlp.experts.down_proj", "blk.*.ffn_down_exps"}},
                       .tensors = {kExpertTensors, kDecoderTensors},
                       .check = CheckClamp}},
      .tokenizers = {
          .pre_tokenizers = {{{"gpt-4o", "o200k"}, {words::kO200k}}},
          .turn_markers = {"<|start|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"},
          .generation_ends = {"<|return|>", "<|call|>"},
          .adjust = KeepMessageEnds}};
  return family;
}

}  // namespace inferflux::model
