// What each name of tokenizer.ggml.pre means: the one table of pre-tokenisers. The patterns are facts of the models,
// from their own tokenizer.json files.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer/pre_tokenizer/word_scanner.h"

namespace inferflux::text {

// One pass over the pieces that the passes before it left. Both kinds keep what they do not match as pieces of its own.
struct PreTokenizerStage {
  enum class Kind {
    kRegex,            // each match of `pattern` is a piece
    kDigitsFromRight,  // runs of the class `pattern` (\d or \p{N}) are cut in threes from their right end
  };
  Kind kind = Kind::kRegex;
  // In PCRE2's syntax with Unicode properties; \s and \S mean White_Space, as in the engines the models were made with.
  std::string_view pattern;
  bool before_word_boundary = false;  // kDigitsFromRight: leave a run alone that a letter or digit follows
  WordScanner scanner;                // kRegex: what matches `pattern` faster, where something does
};

struct PreTokenizerRules {
  std::span<const std::string_view> names;
  std::span<const PreTokenizerStage> stages;
  bool nfc = false;            // text is brought to Normalization Form C first
  bool ignore_merges = false;  // a piece that is a token whole is that token, whatever the merges would make of it
};

// The row that `name` is in; null where none is.
const PreTokenizerRules* FindPreTokenizer(std::string_view name);

// "afmoe, bailingmoe, ...": every name, for error messages.
std::string PreTokenizerNames();

}  // namespace inferflux::text
