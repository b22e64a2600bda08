// Splits SentencePiece text before U+2581 where no piece of the vocabulary could span the boundary. The tokens of the
// parts are then exactly those of the whole, and each part can be cached as a word.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer/vocabulary.h"
#include "unicode/utf8.h"

namespace inferflux::text {

// A set of characters.
class CharSet {
 public:
  void Insert(char32_t code) {
    if (code > kMaxCode) return;
    if (bits_.size() <= code) bits_.resize(code + 1);
    bits_[code] = true;
  }
  bool Contains(char32_t code) const { return code < bits_.size() && bits_[code]; }

 private:
  static constexpr char32_t kMaxCode = 0x10FFFF;
  std::vector<bool> bits_;
};

class WordCutter {
 public:
  explicit WordCutter(const Vocabulary& vocabulary);

  // Calls `word(part)` for each part of `text`, in order.
  template <class Word>
  void Cut(std::string_view text, const Word& word) const {
    size_t begin = 0;
    char32_t before = 0;
    for (size_t at = 0; at < text.size();) {
      const unicode::Utf8Char c = unicode::DecodeUtf8(text, at);
      if (c.code == unicode::kSpaceMark && at > begin && !joined_before_mark_.Contains(before)) {
        word(text.substr(begin, at - begin));
        begin = at;
      }
      before = c.code;
      at += c.size;
    }
    if (begin < text.size()) word(text.substr(begin));
  }

 private:
  CharSet joined_before_mark_;  // characters that precede U+2581 in some piece
};

}  // namespace inferflux::text
