// SentencePiece's precompiled_charsmap: which strings of characters a normaliser replaces, and by what. The file holds
// a length (32 bits), a double-array trie of that many bytes (Darts-clone's layout, little-endian), and the
// replacements, each ended by a zero byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::text {

class Charsmap {
 public:
  // Empty bytes: nothing is replaced. A map that is cut short is an error.
  static Result<Charsmap> Parse(std::string_view bytes);

  // `text` with, from left to right, the longest match at each place replaced. A byte that is not UTF-8 stays.
  std::string Apply(std::string_view text) const;

 private:
  struct Match {
    size_t size = 0;  // 0: none
    std::string_view replacement;
  };
  Match LongestMatch(std::string_view text) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace inferflux::text
