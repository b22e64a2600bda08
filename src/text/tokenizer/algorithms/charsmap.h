// SentencePiece's precompiled_charsmap: the strings that a normaliser replaces, and their replacements. The file holds
// a length (32 bits), a double-array trie with that many bytes (Darts-clone's layout, little-endian), and the
// replacements, each terminated by a zero byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::text {

class Charsmap {
 public:
  // Empty bytes: nothing is replaced. A truncated map is an error.
  static Result<Charsmap> Parse(std::string_view bytes);

  // `text` with the longest match at each position replaced, from left to right. Invalid UTF-8 bytes stay.
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
