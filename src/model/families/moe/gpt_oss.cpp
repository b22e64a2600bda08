// gpt-oss (arXiv:2508.10925): a sink in each head's softmax, a window on every other layer, YaRN without rounding of
// its ramp, biases everywhere, and experts with a clamped gate. GGUF calls the norm before the experts
// post_attention_norm.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/rope_scaling.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kGptOssKeys = R"({
  "read": {"num_hidden_layers": 36, "num_local_experts": 128, "vocab_size": 201088, "hidden_size": 2880,
    "intermediate_size": 2880, "head_dim": 64, "num_attention_heads": 64, "num_key_value_heads": 8,
    "sliding_window": 128, "tie_word_embeddings": false, "hidden_act": "silu", "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-05, "num_experts_per_tok": 4, "layer_types": null,
    "rope_parameters": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false,
      "original_max_position_embeddings": 4096},
    "rope_theta": 150000.0, "rope_scaling": null},
  "only": {"attention_bias": [true], "swiglu_alpha": [1.702], "swiglu_limit": [7.0],
    "partial_rotary_factor": [null, 1.0]},
  "unused": ["initial_context_length", "experts_per_token"],
  "names": {"num_experts": "num_local_experts"},
  "nullable": ["sliding_window"]
})";

// In this format <|end|> closes one message of several, and <|call|> or <|return|> closes the turn.
void KeepMessageEnds(const formats::GgufMetadata&, text::VocabSpec& vocab) {
  if (EndsGeneration(vocab, "<|call|>") && EndsGeneration(vocab, "<|return|>")) DropGenerationEnd(vocab, "<|end|>");
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
                       .keys = kGptOssKeys,
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
                                       {"layers.*.self_attn.sinks", "blk.*.attn_sinks", TensorChange::kNone,
                                        /*whole=*/true},
                                       {"layers.*.mlp.router", "blk.*.ffn_gate_inp"},
                                       {"layers.*.mlp.experts.gate_proj", "blk.*.ffn_gate_exps"},
                                       {"layers.*.mlp.experts.up_proj", "blk.*.ffn_up_exps"},
                                       {"layers.*.mlp.experts.down_proj", "blk.*.ffn_down_exps"}},
                       .tensors = {kExpertTensors, kDecoderTensors}}},
      .tokenizers = {
          .pre_tokenizers = {{{"gpt-4o", "o200k"}, {words::kO200k}}},
          .turn_markers = {"<|start|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"},
          .generation_ends = {"<|return|>", "<|call|>"},
          .adjust = KeepMessageEnds}};
  return family;
}

}  // namespace inferflux::model
