#include "model/huggingface/pre_tokenizer_name.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "formats/huggingface/hf_vocab.h"
#include "text/tokenizer/pre_tokenizer/pre_tokenizer_table.h"

namespace inferflux::model {
namespace {

// One name of each rule that files in the wild use; the others are aliases of these.
constexpr std::string_view kNames[] = {
    "gpt-2",     "mpt",          "llama-bpe",      "dbrx",        "jais-2",     "qwen2",   "deepseek-r1-qwen",
    "qwen35",    "starcoder",    "command-r",      "falcon",      "viking",     "bloom",   "tekken",
    "gpt-4o",    "deepseek-llm", "deepseek-coder", "deepseek-v3", "youtu",      "kimi-k2", "chameleon",
    "tiny_aya",  "afmoe",        "superbpe",       "bailingmoe",  "seed-coder", "laguna",  "minicpm5",
    "exaone-moe"};

bool Fits(const text::PreTokenizerRules& rules, const std::vector<std::string>& patterns, bool nfc,
          bool ignore_merges) {
  return rules.nfc == nfc && rules.ignore_merges == ignore_merges &&
         std::equal(rules.stages.begin(), rules.stages.end(), patterns.begin(), patterns.end(),
                    [](const text::PreTokenizerStage& stage, const std::string& pattern) {
                      return stage.kind == text::PreTokenizerStage::Kind::kRegex && stage.pattern == pattern;
                    });
}

}  // namespace

Result<std::string> FindPreTokenizerName(const formats::HfTokenizer& tokenizer) {
  const auto patterns = formats::ReadHfSplitPatterns(tokenizer);
  if (!patterns) return Forward(patterns);
  const auto nfc = formats::NormalizesToNfc(tokenizer);
  if (!nfc) return Forward(nfc);
  for (const std::string_view name : kNames) {
    const text::PreTokenizerRules* rules = text::FindPreTokenizer(name);
    if (rules != nullptr && Fits(*rules, *patterns, *nfc, tokenizer.ignore_merges)) return std::string(name);
  }
  return Fail(
      ErrorCode::kUnsupported,
      "{}: no pre-tokenizer that GGUF names cuts text by [{}]{}{}; if you know that one does, convert the model "
      "with inferflux-convert --pre NAME (known: {})",
      tokenizer.root.source(), fmt::join(*patterns, "; "), *nfc ? " after NFC" : "",
      tokenizer.ignore_merges ? " with ignore_merges" : "", text::PreTokenizerNames());
}

}  // namespace inferflux::model
