// Llama 2 and 3 (arXiv:2307.09288, 2407.21783), Mistral 7B (arXiv:2310.06825), Mixtral (arXiv:2401.04088), SmolLM and
// other models of the same structure, which GGUF stores as one architecture. Its converter permutes q and k so that the
// two values of a rotary pair are neighbours.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

constexpr std::string_view kLlamaKeys = R"({
  "read": {"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": null, "hidden_act": "silu", "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "attention_bias": false, "mlp_bias": false, "head_dim": null,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"rope_interleaved": [false], "partial_rotary_factor": [null, 1.0]}
})";

constexpr std::string_view kMistralKeys = R"({
  "read": {"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": null, "hidden_act": "silu",
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "sliding_window": 4096,
    "rope_theta": 10000.0, "rope_parameters": null, "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "nullable": ["sliding_window"]
})";

constexpr std::string_view kMixtralKeys = R"({
  "read": {"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": null, "hidden_act": "silu",
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "tie_word_embeddings": false, "sliding_window": null,
    "num_experts_per_tok": 2, "num_local_experts": 8, "rope_theta": 1000000.0, "rope_parameters": null,
    "rope_scaling": null},
  "only": {"partial_rotary_factor": [null, 1.0]},
  "names": {"num_experts": "num_local_experts"}
})";

// Mistral's: o200k's words without contractions, and each digit by itself.
constexpr std::string_view kTekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr words::Stage kTekken[] = {
    words::Regex(kTekkenWords, {.family = words::Scanner::Family::kO200k, .max_digits = 1})};

Result<ModelConfig> ReadLlama(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.rope_style = compute::RopeStyle::kInterleaved, .moe = {.routing = {.normalise = true}}});
}

}  // namespace

const Family& Llama() {
  static const Family family{
      .architecture = "llama",
      .read = ReadLlama,
      .checkpoints = {{.model_types = {"llama"}, .keys = kLlamaKeys, .tensors = {kInterleavedTensors, kDecoderTensors}},
                      {.model_types = {"mistral"},
                       .keys = kMistralKeys,
                       .tensors = {kInterleavedTensors, kDecoderTensors}},
                      {.model_types = {"mixtral"},
                       .keys = kMixtralKeys,
                       .tensors = {kInterleavedTensors, kMixtralTensors, kExpertTensors, kDecoderTensors}}},
      .tokenizers = {.pre_tokenizers = {{{"llama-bpe", "llama3", "llama-v3"},
                                         {.stages = words::kCl100k, .ignore_merges = true},
                                         true},
                                        {{"tekken"}, {.stages = kTekken, .ignore_merges = true}, /*adds_bos=*/true}},
                     .turn_markers = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>",
                                      "<|begin_of_text|>", "<|end_of_text|>"},
                     .generation_ends = {"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "</s>"}}};
  return family;
}

}  // namespace inferflux::model
