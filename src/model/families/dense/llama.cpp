// Llama 2 and 3 (arXiv:2307.09288, 2407.21783), Mistral 7B (arXiv:2310.06825), Mixtral (arXiv:2401.04088), SmolLM and
// other models of the same structure, which GGUF stores as one architecture. Its converter permutes q and k so that the
// two values of a rotary pair are neighbours.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

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
      .checkpoints = {{.model_types = {"llama", "mistral", "mixtral"},
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
