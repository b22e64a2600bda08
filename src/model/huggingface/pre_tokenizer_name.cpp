#include "model/huggingface/pre_tokenizer_name.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "formats/huggingface/hf_vocab.h"
#include "model/families/tokenizers/tokenizer_traits.h"

namespace inferflux::model {
namespace {

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
  for (const TokenizerTraits* traits : AllTokenizerTraits()) {
    for (const NamedPreTokenizer& row : traits->pre_tokenizers) {
      if (Fits(row.rules, *patterns, *nfc, tokenizer.ignore_merges)) return std::string(row.names.front());
    }
  }
  return Fail(
      ErrorCode::kUnsupported,
      "{}: no pre-tokenizer that GGUF names cuts text by [{}]{}{}; if you know that one does, convert the model "
      "with inferflux-convert --pre NAME (known: {})",
      tokenizer.root.source(), fmt::join(*patterns, "; "), *nfc ? " after NFC" : "",
      tokenizer.ignore_merges ? " with ignore_merges" : "", PreTokenizerNames());
}

}  // namespace inferflux::model
