#include "text/tokenizer/algorithms/sentencepiece_text.h"

#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

// Collapses runs of spaces into one, and removes those at either end.
std::string Squeeze(std::string_view text) {
  std::string out;
  bool space = false;
  for (const char c : text) {
    if (c == ' ') {
      space = !out.empty();
      continue;
    }
    if (space) out.push_back(' ');
    space = false;
    out.push_back(c);
  }
  return out;
}

}  // namespace

Result<SentencePieceText> SentencePieceText::Create(const VocabSpec& spec) {
  auto charsmap = Charsmap::Parse(spec.charsmap);
  if (!charsmap) return Forward(charsmap);
  return SentencePieceText(std::move(*charsmap), spec.space_prefix, spec.remove_extra_whitespaces);
}

std::string SentencePieceText::Normalize(std::string_view run, bool first) const {
  std::string text = charsmap_.Apply(run);
  if (remove_extra_whitespaces_) text = Squeeze(text);
  if (text.empty()) return text;
  const bool has_space = text.starts_with(' ') || text.starts_with(unicode::kSpaceMarkUtf8);
  const bool wanted = first ? prefix_ != SpacePrefix::kNever : prefix_ >= SpacePrefix::kEveryUnspacedRun;
  const bool prefixed = wanted && (!has_space || prefix_ == SpacePrefix::kEveryRun);
  if (prefixed) text.insert(text.begin(), ' ');
  return unicode::ReplaceAll(text, " ", unicode::kSpaceMarkUtf8);
}

}  // namespace inferflux::text
