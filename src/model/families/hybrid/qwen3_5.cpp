// Qwen3.5 and Qwen3.6 (Qwen, 2026): Qwen3-Next's layers with an ordinary feed-forward network, and a projection for
// each input of gated DeltaNet. Their RoPE has sections for the places in an image, which are equal in text.
#include "model/families/hybrid/qwen3_5.h"

#include "model/families/family.h"
#include "model/families/tokenizers/words.h"
#include "model/families/vision/rope_sections.h"

namespace inferflux::model {
namespace {

// cl100k's words with marks in them, and digits one by one.
constexpr std::string_view kWordsWithMarks =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr words::Stage kQwen35Stages[] = {
    words::Regex(kWordsWithMarks, {.family = words::Scanner::Family::kCl100k, .max_digits = 1, .marks = true})};

constexpr std::string_view kQwen35Keys = R"({
  "read": {"vocab_size": 248320, "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 32,
    "num_attention_heads": 16, "num_key_value_heads": 4, "hidden_act": "silu", "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "head_dim": 256, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32, "layer_types": null, "full_attention_interval": 4, "rope_theta": 10000.0,
    "partial_rotary_factor": 0.25, "rope_parameters": null, "rope_scaling": null,
    "rope_parameters.mrope_section": null},
  "only": {"attention_bias": [false], "attn_output_gate": [true], "output_gate_type": ["swish", "silu"],
    "mlp_only_layers": [[], null]},
  "unused": ["text_config", "vision_config", "mamba_ssm_dtype", "mtp_num_hidden_layers",
    "mtp_use_dedicated_embeddings", "rope_parameters.mrope_interleaved"]
})";

}  // namespace

Status PrepareQwen35(formats::HfConfig& config) {
  if (auto prepared = PrepareDeltaNet(config); !prepared) return prepared;
  const uint32_t values = config.counts["ssm.time_step_rank"], keys = config.counts["ssm.group_count"];
  if (values % keys != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: {} value heads cannot share {} key heads evenly", config.raw.source(),
                values, keys);
  }
  config.value_heads = {.heads = values, .key_heads = keys, .key_rows = 2 * keys * config.counts["ssm.state_size"]};
  return ReadRopeSections(config, {11, 11, 10});
}

Result<ModelConfig> ReadQwen35(const ModelSource& source, int32_t context) {
  return ReadDeltaNetModel(source, context, {.delta_net = compute::DeltaNetParams{.keys_repeat = true}});
}

const Family& Qwen35() {
  static const Family family{.architecture = "qwen35",
                             .read = ReadQwen35,
                             .checkpoints = {{.model_types = {"qwen3_5_text", "qwen3_5"},
                                              .keys = kQwen35Keys,
                                              .tensors = {kDeltaNetNorms, kTiledDeltaNet, kDecoderTensors},
                                              .prefixes = kQwen35Prefixes,
                                              .ignored = kNotQwen35Text,
                                              .prepare = PrepareQwen35}},
                             .tokenizers = {.pre_tokenizers = {{{"qwen35"}, {kQwen35Stages, /*nfc=*/true}}}}};
  return family;
}

}  // namespace inferflux::model
