// The pre-tokenizer of each name in tokenizer.ggml.pre, in one table. The patterns are facts of the models, from their
// own tokenizer.json files.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer/pre_tokenizer/word_scanner.h"

namespace inferflux::text {

// One pass over the pieces of the previous passes. Both kinds keep unmatched text as separate pieces.
struct PreTokenizerStage {
  enum class Kind {
    kRegex,            // each match of `pattern` is a piece
    kDigitsFromRight,  // runs of the class `pattern` (\d or \p{N}) are split into threes from their right end
  };
  Kind kind = Kind::kRegex;
  // In PCRE2's syntax with Unicode properties. \s and \S mean White_Space, as in the engines with which the models were
  // made.
  std::string_view pattern;
  bool before_word_boundary = false;  // kDigitsFromRight: skip a run that a letter or digit follows
  WordScanner scanner;                // kRegex: a faster matcher for `pattern`, if there is one
};

struct PreTokenizerRules {
  std::span<const std::string_view> names;
  std::span<const PreTokenizerStage> stages;
  bool nfc = false;            // text is brought to Normalization Form C first
  bool ignore_merges = false;  // a piece that equals a whole token becomes that token, whatever the merges would give
};

// The row with `name`; null if there is none.
const PreTokenizerRules* FindPreTokenizer(std::string_view name);

// "afmoe, bailingmoe, ...": every name, for error messages.
std::string PreTokenizerNames();

}  // namespace inferflux::text
