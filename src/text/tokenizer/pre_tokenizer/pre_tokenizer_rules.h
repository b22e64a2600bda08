// How a byte-level tokenizer splits text before it merges. A floor above supplies the rules: facts about the models,
// from their tokenizer.json files.
#pragma once

#include <span>
#include <string_view>

#include "text/tokenizer/pre_tokenizer/word_scanner.h"

namespace inferflux::text {

// One pass over the pieces of the previous pass. With both kinds, text that does not match becomes separate pieces.
struct PreTokenizerStage {
  enum class Kind {
    kRegex,            // each match of `pattern` is a piece
    kDigitsFromRight,  // runs of the class `pattern` (\d or \p{N}) are split into groups of three from the right
  };
  Kind kind = Kind::kRegex;
  // In PCRE2's syntax with Unicode properties; \s and \S mean White_Space, as in the engines used to train the models.
  std::string_view pattern;
  bool before_word_boundary = false;  // kDigitsFromRight: skip a run that a letter or digit follows
  WordScanner scanner;                // kRegex: a faster matcher of `pattern`, if there is one
};

struct PreTokenizerRules {
  std::span<const PreTokenizerStage> stages;
  bool nfc = false;            // text is first converted to Normalization Form C
  bool ignore_merges = false;  // a piece that equals a token becomes that token without merges
};

}  // namespace inferflux::text
