#include "text/tokenizer/algorithms/word_cutter.h"

#include "unicode/utf8.h"

namespace inferflux::text {

WordCutter::WordCutter(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.IsText(id)) continue;
    const std::string_view text = vocabulary.Text(id);
    char32_t before = 0;
    for (size_t at = 0; at < text.size();) {
      const unicode::Utf8Char c = unicode::DecodeUtf8(text, at);
      if (at > 0 && c.code == unicode::kSpaceMark) joined_before_mark_.Insert(before);
      before = c.code;
      at += c.size;
    }
  }
}

}  // namespace inferflux::text
