// Finds the tokens that are matched whole, before the text is split: user-defined ones anywhere, control ones only in
// trusted text. Of several matches, the leftmost wins, then the longest.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "text/tokenizer/byte_trie.h"
#include "text/tokenizer/vocabulary.h"

namespace inferflux::text {

// A stretch of a text, in bytes.
struct TextRange {
  size_t begin;
  size_t end;
};

struct WholeToken {
  TokenId id;
  size_t begin;
  size_t end;
};

class WholeTokenMatcher {
 public:
  explicit WholeTokenMatcher(const Vocabulary& vocabulary);

  // All matches in `text`, from left to right. `trusted`: the parts in which control tokens may match, ascending and
  // not adjacent. A control token must be entirely inside one of them.
  std::vector<WholeToken> FindAll(std::string_view text, std::span<const TextRange> trusted) const;

 private:
  struct Entry {
    TokenId user_defined = kNoToken;
    TokenId control = kNoToken;
  };

  std::optional<WholeToken> MatchAt(std::string_view text, size_t at, size_t trusted_end) const;

  ByteTrie trie_;               // values index entries_
  std::vector<Entry> entries_;  // by text
};

}  // namespace inferflux::text
