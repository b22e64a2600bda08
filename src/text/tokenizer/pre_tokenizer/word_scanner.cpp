#include "text/tokenizer/pre_tokenizer/word_scanner.h"

#include <array>

#include "unicode/character_classes.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

// Sets of character classes, as bits.
constexpr uint32_t Bit(unicode::CharClass c) { return 1U << static_cast<uint32_t>(c); }
constexpr uint32_t kUpper = Bit(unicode::CharClass::kUpper);
constexpr uint32_t kLower = Bit(unicode::CharClass::kLower);
constexpr uint32_t kCaseless = Bit(unicode::CharClass::kOtherLetter) | Bit(unicode::CharClass::kMark);
constexpr uint32_t kMark = Bit(unicode::CharClass::kMark);
constexpr uint32_t kLetter = kUpper | kLower | Bit(unicode::CharClass::kOtherLetter);
constexpr uint32_t kNumber = Bit(unicode::CharClass::kDecimalDigit) | Bit(unicode::CharClass::kOtherNumber);
constexpr uint32_t kSpace = Bit(unicode::CharClass::kWhiteSpace);
constexpr uint32_t kOther = ~(kLetter | kNumber | kSpace);
// Classes that may begin a word in kO200k, and classes that may continue its lower-case part.
constexpr uint32_t kHead = kUpper | kCaseless;
constexpr uint32_t kTail = kLower | kCaseless;

struct Char {
  uint32_t set;  // one bit: the class; 0 at the text's end
  uint8_t size;
};

}  // namespace

struct WordScanner::Reader {
  std::string_view text;
  std::array<uint32_t, 128> ascii;

  explicit Reader(std::string_view t) : text(t) {
    for (char32_t c = 0; c < 128; ++c) ascii[c] = Bit(unicode::ClassOf(c));
  }

  Char At(size_t at) const {
    if (at >= text.size()) return {0, 0};
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte < 0x80) return {ascii[byte], 1};
    const unicode::Utf8Char c = unicode::DecodeUtf8(text, at);
    return {Bit(unicode::ClassOf(c.code)), c.size};
  }
  bool IsNewline(size_t at) const { return at < text.size() && (text[at] == '\r' || text[at] == '\n'); }
  bool IsByte(size_t at, char byte) const { return at < text.size() && text[at] == byte; }

  // The end of the run of characters in `set` that begins at `at`.
  size_t Run(size_t at, uint32_t set) const {
    for (Char c = At(at); (c.set & set) != 0; c = At(at)) at += c.size;
    return at;
  }

  // The end of 's, 't, 're, 've, 'm, 'll or 'd at `at`; `at` if there is none. Case-insensitively, U+017F is an s too.
  size_t Contraction(size_t at, bool any_case) const {
    if (!IsByte(at, '\'') || at + 1 >= text.size()) return at;
    const auto lower = [&](size_t i) {
      const char c = i < text.size() ? text[i] : '\0';
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    };
    const char a = lower(at + 1);
    const char b = lower(at + 2);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return at + 3;
    if (any_case && text.substr(at + 1, 2) == "\xC5\xBF") return at + 3;
    return at;
  }

  // \s+(?!\S)|\s+ on the run of white space at `at`: all of it at the text's end; otherwise all but its last character,
  // which belongs to what follows, unless it is the only one.
  size_t WhiteSpace(size_t at) const {
    size_t last = at;
    size_t end = at;
    for (Char c = At(end); (c.set & kSpace) != 0; c = At(end)) {
      last = end;
      end += c.size;
    }
    return end == text.size() || last == at ? end : last;
  }

  // \s*[\r\n]+: the run of white space at `at` up to its last newline; `at` if it has none.
  size_t ThroughLastNewline(size_t at) const {
    size_t end = at;
    for (Char c = At(at); (c.set & kSpace) != 0; c = At(at)) {
      at += c.size;
      if (IsNewline(at - 1)) end = at;
    }
    return end;
  }
};

size_t WordScanner::Gpt2Piece(const Reader& reader, size_t at) const {
  if (const size_t end = reader.Contraction(at, /*any_case=*/false); end > at) return end;
  const size_t begin = reader.IsByte(at, ' ') ? at + 1 : at;
  const uint32_t set = reader.At(begin).set;
  if ((set & kLetter) != 0) return reader.Run(begin, kLetter);
  if ((set & kNumber) != 0) return reader.Run(begin, kNumber);
  if ((set & kOther) != 0) return reader.Run(begin, kOther);
  return reader.WhiteSpace(at);
}

// \p{N}{1,n}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
size_t WordScanner::CommonTail(const Reader& reader, size_t at, bool slash) const {
  if (const Char c = reader.At(at); (c.set & kNumber) != 0) {
    if (max_digits == 0) return reader.Run(at, kNumber);
    size_t end = at;
    for (int i = 0; i < max_digits; ++i) {
      const Char digit = reader.At(end);
      if ((digit.set & kNumber) == 0) break;
      end += digit.size;
    }
    return end;
  }
  const uint32_t other = marks ? kOther & ~kMark : kOther;
  const size_t begin = reader.IsByte(at, ' ') ? at + 1 : at;
  if (size_t end = reader.Run(begin, other); end > begin) {
    while (reader.IsNewline(end) || (slash && reader.IsByte(end, '/'))) ++end;
    return end;
  }
  if (const size_t end = reader.ThroughLastNewline(at); end > at) return end;
  return reader.WhiteSpace(at);
}

size_t WordScanner::Cl100kPiece(const Reader& reader, size_t at) const {
  if (const size_t end = reader.Contraction(at, /*any_case=*/true); end > at) return end;
  const uint32_t word = marks ? kLetter | kMark : kLetter;
  const Char first = reader.At(at);
  if ((first.set & word) != 0) return reader.Run(at, word);
  if ((first.set & kNumber) == 0 && !reader.IsNewline(at)) {
    const size_t begin = at + first.size;
    if (const size_t end = reader.Run(begin, word); end > begin) return end;
  }
  return CommonTail(reader, at, /*slash=*/false);
}

size_t WordScanner::O200kPiece(const Reader& reader, size_t at) const {
  const Char first = reader.At(at);
  const bool may_prefix = (first.set & (kLetter | kNumber)) == 0 && !reader.IsNewline(at);
  const size_t starts[] = {at + first.size, at};
  // [head]*[tail]+ : backtracks over the heads to the last character that is also a tail.
  const auto mixed = [&](size_t begin) {
    size_t end = begin;
    size_t after_last_tail = begin;
    for (Char c = reader.At(end); (c.set & kHead) != 0; c = reader.At(end)) {
      end += c.size;
      if ((c.set & kTail) != 0) after_last_tail = end;
    }
    const size_t tail = reader.Run(end, kTail);
    return tail > end ? tail : after_last_tail;
  };
  // [head]+[tail]*
  const auto heads = [&](size_t begin) {
    const size_t end = reader.Run(begin, kHead);
    return end > begin ? reader.Run(end, kTail) : begin;
  };
  const auto finish = [&](size_t end) { return contractions ? reader.Contraction(end, /*any_case=*/true) : end; };
  for (const bool all_heads : {false, true}) {
    for (size_t i = may_prefix ? 0 : 1; i < 2; ++i) {
      const size_t end = all_heads ? heads(starts[i]) : mixed(starts[i]);
      if (end > starts[i]) return finish(end);
    }
  }
  return CommonTail(reader, at, /*slash=*/true);
}

void WordScanner::Split(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) const {
  const Reader reader(text);
  for (size_t at = 0; at < text.size(); ends.push_back(base + static_cast<uint32_t>(at))) {
    switch (family) {
      case Family::kGpt2:
        at = Gpt2Piece(reader, at);
        break;
      case Family::kCl100k:
        at = Cl100kPiece(reader, at);
        break;
      case Family::kO200k:
        at = O200kPiece(reader, at);
        break;
      case Family::kNone:
        at = text.size();
        break;
    }
  }
}

}  // namespace inferflux::text
