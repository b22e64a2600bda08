// How a SentencePiece-style tokenizer prepares text before it looks for pieces.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace inferflux::formats {

struct HfTokenizer;

struct SentencePieceRules {
  std::string charsmap;  // precompiled_charsmap; empty: text is taken as it is
  // A space goes before "every" run between added tokens, "unspaced" ones (that begin with none), the "first" if it is
  // unspaced, or "never".
  std::string space_prefix = "never";
  bool remove_extra_whitespaces = false;
};

// From the steps of tokenizer.json's normalizer and pre_tokenizer, or as a ".model" file says. kUnsupported names a
// step that has no counterpart.
Result<SentencePieceRules> ReadSentencePieceRules(const HfTokenizer& tokenizer);

}  // namespace inferflux::formats
