// The commonest pre-tokenizers' patterns, matched by hand: many times faster than a general engine, with the same
// result on every text (the tests compare the two).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace inferflux::text {

struct WordScanner {
  enum class Family : uint8_t {
    kNone,
    kGpt2,    // 's|'t|...| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
    kCl100k,  // (?i:'s|...)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,n}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
    kO200k,   // the same, but words split before a capital, and [\r\n/]*
  };
  Family family = Family::kNone;
  uint8_t max_digits = 0;     // kCl100k and kO200k: the n above; 0: no limit
  bool marks = false;         // kCl100k: [\p{L}\p{M}]+ for \p{L}+
  bool contractions = false;  // kO200k: (?i:'s|...)? after words

  // Appends the end of each piece of `text`, valid UTF-8, as an offset plus `base`.
  void Split(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) const;

 private:
  struct Reader;
  size_t Gpt2Piece(const Reader& reader, size_t at) const;
  size_t Cl100kPiece(const Reader& reader, size_t at) const;
  size_t O200kPiece(const Reader& reader, size_t at) const;
  size_t CommonTail(const Reader& reader, size_t at, bool slash) const;
};

}  // namespace inferflux::text
