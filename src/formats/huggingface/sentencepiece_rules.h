// How a SentencePiece-style tokenizer prepares text before it searches for pieces.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace inferflux::formats {

struct HfTokenizer;

struct SentencePieceRules {
  std::string charsmap;  // precompiled_charsmap; empty: text is not normalised
  // Where a space is prepended: before "every" run between added tokens, before "unspaced" runs (that do not begin with
  // a space), before the "first" run if it is unspaced, or "never".
  std::string space_prefix = "never";
  bool remove_extra_whitespaces = false;
};

// From the normalizer and pre_tokenizer steps of tokenizer.json, or from a ".model" file. kUnsupported names a step
// without a counterpart.
Result<SentencePieceRules> ReadSentencePieceRules(const HfTokenizer& tokenizer);

}  // namespace inferflux::formats
